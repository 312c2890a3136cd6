// SPDX-License-Identifier: Apache-2.0
#include "ggctl/cli.h"

#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/spec/suggest.h"
#include "ggctl/exit_code.h"
#include "ggctl/format.h"
#include "ggctl/session.h"
#include "ggctl/terminal.h"
#include "ggctl/verb.h"
#include "platform/host.h"

namespace gg {
namespace {

struct Globals {
  std::string server = kDefaultServer;
  std::string request_timeout = "10s";
  std::string color = "auto";
};

// Whether whoever read our standard output has gone; that is no error of ours.
bool ReaderIsGone() {
  pollfd out = {STDOUT_FILENO, POLLOUT, 0};
  return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

// Of the first word of verbs of two words.
std::string GroupSummary(const std::string& word) {
  if (word == "schedule") return "Look at partner schedules";
  if (word == "model") return "Look at networks";
  return "Work on this machine alone";
}

class CommandLine {
 public:
  CommandLine() : app_("GossipGraD: trains neural networks on clusters by gossip.", "ggctl") {
    app_.fallthrough();   // options of ggctl itself also after the verb
    app_.allow_extras();  // so that what is unknown gets our message
    app_.add_option("--server", globals_.server, "Coordinator, host:port")
        ->envname("GGCTL_SERVER")
        ->capture_default_str();
    app_.add_option("--request-timeout", globals_.request_timeout,
                    "Longest wait for one answer of the coordinator")
        ->capture_default_str();
    app_.add_option("--color", globals_.color, "Color on standard error: auto, always or never")
        ->check(CLI::IsMember({"auto", "always", "never"}))
        ->capture_default_str();
    for (const Verb& verb : Verbs()) Add(verb);
  }

  int Run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
    Session session;
    session.out = &out;
    session.err = &err;
    try {
      std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
      app_.parse(reversed);
    } catch (const CLI::CallForHelp&) {
      out << Help(Deepest(&app_)) << std::flush;
      return Written(session, 0);
    } catch (const CLI::ParseError& e) {
      return Usage(session, e.what());
    }
    const ColorMode mode = globals_.color == "always"  ? ColorMode::kAlways
                           : globals_.color == "never" ? ColorMode::kNever
                                                       : ColorMode::kAuto;
    session.out_terminal = Terminal::Detect(STDOUT_FILENO, mode);
    session.err_terminal = Terminal::Detect(STDERR_FILENO, mode);
    session.server = globals_.server;
    if (!ParseTimeout(globals_.request_timeout, &session.request_timeout) ||
        session.request_timeout == absl::ZeroDuration()) {
      return Usage(session, absl::StrCat("--request-timeout: expected a time such as 10s, got \"",
                                         globals_.request_timeout, "\""));
    }
    if (const auto server = ParseHostPort(session.server); !server.ok() || server->port == 0) {
      return Usage(session, absl::StrCat("--server: expected host:port such as ", kDefaultServer,
                                         ", got \"", session.server, "\""));
    }
    return Written(session, Dispatch(session));
  }

 private:
  // Output that was lost is a failure, whatever else went well.
  static int Written(Session& session, int code) {
    session.out->flush();
    if (!session.out->fail() || ReaderIsGone()) return code;
    session.Fail(ExitCode::kGeneral,
                 "standard output could not be written whole; is its disk full?");
    return code == 0 ? static_cast<int>(ExitCode::kGeneral) : code;
  }

  void Add(const Verb& verb) {
    const std::vector<std::string> words = absl::StrSplit(verb.name, ' ');
    CLI::App* parent = &app_;
    if (words.size() > 1) {
      CLI::App*& group = groups_[words.front()];
      if (group == nullptr) {
        group = app_.add_subcommand(words.front(), GroupSummary(words.front()));
      }
      parent = group;
    }
    CLI::App* app = parent->add_subcommand(words.back(), verb.summary);
    actions_.emplace_back(app, verb.add(*app));
  }

  static const CLI::App* Deepest(const CLI::App* app) {
    const auto chosen = app->get_subcommands();
    return chosen.empty() ? app : Deepest(chosen.front());
  }

  static std::string Help(const CLI::App* app) {
    return app->help(app->get_parent() == nullptr ? "" : FullName(app->get_parent()));
  }

  // "ggctl local run".
  static std::string FullName(const CLI::App* app) {
    return app->get_parent() == nullptr
               ? app->get_name()
               : absl::StrCat(FullName(app->get_parent()), " ", app->get_name());
  }

  int Usage(Session& session, const std::string& message) {
    session.Fail(ExitCode::kUsage, message);
    session.Hint(absl::StrCat("see `", FullName(Deepest(&app_)), " --help`"));
    return static_cast<int>(ExitCode::kUsage);
  }

  int Dispatch(Session& session) {
    const std::vector<std::string> extras = app_.remaining(true);
    for (auto& [app, action] : actions_) {
      if (!app->parsed()) continue;
      if (!extras.empty()) return UnknownArgument(session, app, extras.front());
      return static_cast<int>(action(session));
    }
    // No verb, or a group without its second word.
    const CLI::App* group = Deepest(&app_);
    std::vector<std::string> names;
    for (const CLI::App* sub : group->get_subcommands([](const CLI::App*) { return true; }))
      names.push_back(sub->get_name());
    if (extras.empty()) {
      *session.err << Help(group) << std::flush;
      return static_cast<int>(ExitCode::kUsage);
    }
    const std::string near = Nearest(extras.front(), names);
    return Usage(session,
                 absl::StrCat("unknown command \"", extras.front(), "\" for ", FullName(group),
                              near.empty() ? absl::StrCat("; known: ", absl::StrJoin(names, ", "))
                                           : absl::StrCat("; did you mean \"", near, "\"?")));
  }

  int UnknownArgument(Session& session, const CLI::App* app, const std::string& argument) {
    if (argument.empty() || argument[0] != '-') {
      return Usage(session, absl::StrCat("unexpected argument \"", argument, "\""));
    }
    std::vector<std::string> options;
    for (const CLI::App* level = app; level != nullptr; level = level->get_parent()) {
      for (const CLI::Option* option : level->get_options()) {
        for (const std::string& name : option->get_lnames())
          options.push_back(absl::StrCat("--", name));
      }
    }
    const std::string near = Nearest(argument.substr(0, argument.find('=')), options);
    return Usage(session,
                 absl::StrCat("unknown option ", argument,
                              near.empty() ? "" : absl::StrCat("; did you mean ", near, "?")));
  }

  CLI::App app_;
  Globals globals_;
  std::map<std::string, CLI::App*> groups_;  // first words of verbs of two words
  std::vector<std::pair<CLI::App*, Action>> actions_;
};

}  // namespace

int RunGgctl(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  return CommandLine().Run(arguments, out, err);
}

}  // namespace gg
