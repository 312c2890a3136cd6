// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "ggctl/format.h"
#include "ggctl/output.h"
#include "ggctl/verb.h"
#include "proto/codec/version.h"

namespace gg {

Action AddVersion(CLI::App& app) {
  struct Options {
    bool client_only = false;
    std::string output;
  };
  auto options = std::make_shared<Options>();
  app.add_flag("--client", options->client_only, "Do not ask the coordinator");
  AddOutput(app, &options->output,
            {{"wide", "protocol versions and the coordinator's address and id too"},
             kJsonForm,
             kYamlForm});
  return [options](Session& session) {
    const bool wide = options->output == "wide";
    nlohmann::ordered_json json = {
        {"client", {{"version", GG_VERSION}, {"protocol_version", kProtocolVersion}}}};
    std::string text = absl::StrCat(
        "client  ", GG_VERSION, wide ? absl::StrCat("  protocol ", kProtocolVersion) : "", "\n");
    ExitCode code = ExitCode::kOk;
    if (!options->client_only) {
      JobClient client = session.Client();
      const auto info = client.ServerInfo();
      if (info.ok()) {
        json["server"] = {{"address", session.server},
                          {"version", info->version()},
                          {"protocol_version", info->protocol_version()},
                          {"coordinator_id", info->coordinator_id()},
                          {"uptime_seconds", info->uptime_seconds()}};
        absl::StrAppend(&text, "server  ", info->version());
        if (wide) absl::StrAppend(&text, "  protocol ", info->protocol_version());
        absl::StrAppend(&text, "  up ", ShortDuration(info->uptime_seconds()));
        if (wide) absl::StrAppend(&text, "  at ", session.server, "  id ", info->coordinator_id());
        text += '\n';
        if (info->protocol_version() != kProtocolVersion) {
          session.Warn(absl::StrCat("ggctl speaks protocol ", kProtocolVersion,
                                    ", the coordinator ", info->protocol_version(),
                                    ": use the same release of both"));
        }
      } else {
        json["server"] = nullptr;
        code = session.Fail(info.status());
      }
    }
    if (IsDocument(options->output)) {
      WriteDocument(session, json, options->output);
    } else {
      session.Print(text);
    }
    return code;
  };
}

}  // namespace gg
