// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/coordinator/daemon/coordinator_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/clock.h"

namespace gg {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(30);

std::string Unique(const std::string& folder, const char* what) {
  static std::atomic<int> count{0};
  return absl::StrCat(folder, "/", what, ++count);
}

std::string ReadFile(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// There is no event to wait for in a file or a process of somebody else: look again every few
// milliseconds.
void Breathe() {
  poll(nullptr, 0, 5);
}

}  // namespace

CoordinatorProcess::CoordinatorProcess(const std::string& folder, std::vector<std::string> args)
    : port_file_(Unique(folder, "ports")), log_file_(Unique(folder, "log")) {
  const char* binary = std::getenv("GG_COORDINATOR");
  if (binary == nullptr) return;
  for (const char* flag : {"--listen", "--http-listen"}) {
    if (std::find(args.begin(), args.end(), flag) == args.end())
      args.insert(args.end(), {flag, "127.0.0.1:0"});
  }
  args.insert(args.begin(), binary);
  args.insert(args.end(), {"--port-file", port_file_});
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  const int log = open(log_file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(log, STDERR_FILENO);
    dup2(log, STDOUT_FILENO);
    execv(binary, argv.data());
    _exit(127);
  }
  close(log);
}

CoordinatorProcess::~CoordinatorProcess() {
  if (pid_ < 0 || Ended()) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool CoordinatorProcess::Ended() {
  if (pid_ < 0) return true;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  pid_ = -1;
  return true;
}

bool CoordinatorProcess::WaitUntilServing() {
  const absl::Time deadline = RealClock().Now() + kPatience;
  while (RealClock().Now() < deadline && !Ended()) {
    const std::string text = ReadFile(port_file_);
    if (!text.empty()) {
      const nlohmann::json ports = nlohmann::json::parse(text);
      grpc_ = ports.at("grpc");
      http_ = ports.at("http");
      return ports.at("pid") == pid_;
    }
    Breathe();
  }
  return false;
}

void CoordinatorProcess::Signal(int number) {
  if (pid_ > 0) kill(pid_, number);
}

int CoordinatorProcess::WaitForExit() {
  const absl::Time deadline = RealClock().Now() + kPatience;
  while (!Ended()) {
    if (RealClock().Now() > deadline) return -1;
    Breathe();
  }
  return code_;
}

std::string CoordinatorProcess::Log() const {
  return ReadFile(log_file_);
}

std::string CoordinatorProcess::HttpGet(const std::string& path) const {
  const size_t colon = http_.rfind(':');
  int port = 0;
  if (!absl::SimpleAtoi(http_.substr(colon + 1), &port)) return "";
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, http_.substr(0, colon).c_str(), &address.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{20, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string answer;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    const std::string request = absl::StrCat("GET ", path, " HTTP/1.0\r\nHost: x\r\n\r\n");
    send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    char buffer[4096];
    for (ssize_t n; (n = recv(fd, buffer, sizeof buffer, 0)) > 0;) {
      answer.append(buffer, static_cast<size_t>(n));
    }
  }
  close(fd);
  return answer;
}

}  // namespace gg
