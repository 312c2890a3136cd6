// SPDX-License-Identifier: Apache-2.0
#include "telemetry/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace gg {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

int Connect(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  timeval timeout{20, 0};  // a hang fails the test instead of the whole run
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

std::string ReadToEnd(int fd) {
  std::string reply;
  char buffer[4096];
  for (ssize_t n; (n = recv(fd, buffer, sizeof(buffer), 0)) > 0;) reply.append(buffer, n);
  close(fd);
  return reply;
}

std::string Ask(int port, const std::string& request) {
  const int fd = Connect(port);
  EXPECT_EQ(send(fd, request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  return ReadToEnd(fd);
}

std::string Get(int port, absl::string_view path, absl::string_view method = "GET",
                absl::string_view headers = "") {
  return Ask(port, absl::StrCat(method, " ", path, " HTTP/1.1\r\nHost: x\r\n", headers, "\r\n"));
}

std::unique_ptr<HttpServer> Start(std::function<absl::Status()> ready = [] {
  return absl::OkStatus();
}) {
  HttpServerOptions options;
  options.metrics = [](MetricsFormat format) {
    return std::string(format == MetricsFormat::kText ? "some_metric 1\n" : "# EOF\n");
  };
  options.live = [] { return absl::OkStatus(); };
  options.ready = std::move(ready);
  auto server = StartHttpServer(std::move(options));
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

TEST(HttpServer, ServesMetricsInTextFormatOnAFreePort) {
  auto server = Start();
  EXPECT_GT(server->port(), 0);
  EXPECT_EQ(server->address(), absl::StrCat("127.0.0.1:", server->port()));
  const std::string reply = Get(server->port(), "/metrics");
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(reply, HasSubstr("Content-Type: text/plain; version=0.0.4"));
  EXPECT_THAT(reply, EndsWith("\r\n\r\nsome_metric 1\n"));
}

TEST(HttpServer, ServesOpenMetricsToWhoAsksForIt) {
  auto server = Start();
  const std::string open = Get(server->port(), "/metrics", "GET",
                               "Accept: application/openmetrics-text; version=1.0.0\r\n");
  EXPECT_THAT(open, HasSubstr("Content-Type: application/openmetrics-text; version=1.0.0; "
                              "charset=utf-8\r\n"));
  EXPECT_THAT(open, HasSubstr("Vary: Accept\r\n"));
  EXPECT_THAT(open, EndsWith("\r\n\r\n# EOF\n"));
  EXPECT_THAT(Get(server->port(), "/metrics", "GET", "Accept: text/html, */*;q=0.8\r\n"),
              HasSubstr("Content-Type: text/plain; version=0.0.4"));
}

TEST(MetricsFormat, IsWhatTheScraperPrefers) {
  const std::string prometheus_2 =
      "application/openmetrics-text;version=1.0.0,application/"
      "openmetrics-text;version=0.0.1;q=0.75,"
      "text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
  const std::string prometheus_3 =
      "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
      "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;q=0.3,"
      "text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
  for (const std::string& accept :
       {prometheus_2, prometheus_3, std::string("application/openmetrics-text"),
        std::string("Application/OpenMetrics-Text ; Version=\"1.0.0\" ; Q=0.1")}) {
    EXPECT_EQ(NegotiateMetricsFormat(accept), MetricsFormat::kOpenMetrics) << accept;
  }
  for (const char* accept :
       {"", "*/*", "text/plain", "text/html,application/xml;q=0.9,*/*;q=0.8",
        "application/openmetrics-text;version=0.0.1", "application/openmetrics-text;q=0",
        "application/openmetrics-text;q=nonsense", "application/openmetrics-text;version=2.0.0",
        "application/openmetrics-text;q=0.3,text/plain;version=0.0.4;q=0.9", ";;,,;q=,=", "q=1"}) {
    EXPECT_EQ(NegotiateMetricsFormat(accept), MetricsFormat::kText) << accept;
  }
}

TEST(HttpServer, ProbesTellTheState) {
  std::atomic<bool> ready{false};
  auto server = Start(
      [&ready] { return ready ? absl::OkStatus() : absl::UnavailableError("no coordinator yet"); });
  EXPECT_THAT(Get(server->port(), "/livez"), StartsWith("HTTP/1.1 200 "));
  const std::string not_ready = Get(server->port(), "/readyz");
  EXPECT_THAT(not_ready, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(not_ready, EndsWith("no coordinator yet\n"));
  ready = true;
  EXPECT_THAT(Get(server->port(), "/readyz"), StartsWith("HTTP/1.1 200 "));
}

TEST(HttpServer, AnythingElseIsNotFoundAndNothingCanBePut) {
  auto server = Start();
  for (const char* path : {"/", "/metrics/", "/metricsx", "/../../etc/passwd", "/etc/passwd"}) {
    EXPECT_THAT(Get(server->port(), path), StartsWith("HTTP/1.1 404 ")) << path;
  }
  EXPECT_THAT(Get(server->port(), "/metrics", "POST"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Get(server->port(), "/metrics", "PUT"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(Get(server->port(), "/metrics", "HEAD"), EndsWith("\r\n\r\n"));
}

TEST(HttpServer, ClientsThatSendNothingOrNonsenseDoNotBlockOthersForEver) {
  auto server = Start();
  std::vector<int> idle;
  for (int i = 0; i < 6; ++i) idle.push_back(Connect(server->port()));  // more than it has threads
  send(idle[0], "GET /met", 8, MSG_NOSIGNAL);
  Ask(server->port(), "\x16\x03\x01 not http\r\n\r\n");
  EXPECT_THAT(Get(server->port(), "/metrics"), StartsWith("HTTP/1.1 200 "));
  for (const int fd : idle) close(fd);
}

TEST(HttpServer, ProbesComeThroughHoweverManyRequestsAreNeverFinished) {
  auto server = Start();
  std::vector<int> stalled;
  for (int i = 0; i < 60; ++i) {
    stalled.push_back(Connect(server->port()));
    send(stalled.back(), "GET /livez HTTP/1.1\r\nHost:", 26, MSG_NOSIGNAL);
  }
  // Each waits 20 s at most (see Connect), which was not enough for the sixty before it once.
  EXPECT_THAT(Get(server->port(), "/livez"), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(Get(server->port(), "/metrics"), StartsWith("HTTP/1.1 200 "));
  for (const int fd : stalled) close(fd);
}

TEST(HttpServer, RefusesABusyPortAndABadAddressWithAReason) {
  auto server = Start();
  HttpServerOptions same;
  same.listen = server->address();
  const auto second = StartHttpServer(same);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(server->address()));
  for (const char* bad : {"", "nohost", ":1", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:x"}) {
    HttpServerOptions options;
    options.listen = bad;
    EXPECT_EQ(StartHttpServer(options).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace gg
