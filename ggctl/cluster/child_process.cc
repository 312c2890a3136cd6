// SPDX-License-Identifier: Apache-2.0
#include "ggctl/cluster/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

extern char** environ;

namespace gg {
namespace {

constexpr int kLastPlainDescriptor = 2;

absl::string_view NameOf(absl::string_view assignment) {
  return assignment.substr(0, assignment.find('='));
}

std::vector<std::string> MergedEnvironment(const std::vector<std::string>& extra) {
  std::vector<std::string> merged = extra;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const absl::string_view name = NameOf(*entry);
    if (std::none_of(extra.begin(), extra.end(),
                     [&](const std::string& e) { return NameOf(e) == name; })) {
      merged.emplace_back(*entry);
    }
  }
  return merged;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Runs in the child between fork and exec: only calls that are safe there.
[[noreturn]] void BecomeChild(char* const* argv, char* const* env, int log, int null, int report,
                              pid_t parent) {
  const auto fail = [report]() {
    const int error = errno;
    // The parent sees a short read if even this fails.
    [[maybe_unused]] const ssize_t written = write(report, &error, sizeof error);
    _exit(127);
  };
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail();
  // The parent may have died before the call above.
  if (getppid() != parent) _exit(127);
  setpgid(0, 0);
  if (dup2(null, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0) fail();
  // What libraries of this process forgot to mark; `report` is marked already.
  for (int fd = kLastPlainDescriptor + 1; fd < 256; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    if (flags >= 0) fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  execve(argv[0], argv, env);
  fail();
  _exit(127);
}

absl::Status StartError(const std::string& program, int error) {
  const std::string message = absl::StrCat("cannot start ", program, ": ", strerror(error));
  if (error == ENOENT) return absl::NotFoundError(message);
  if (error == EACCES) return absl::PermissionDeniedError(message);
  return absl::UnavailableError(message);
}

}  // namespace

absl::StatusOr<pid_t> Spawn(const SpawnOptions& options) {
  std::vector<std::string> arguments = options.argv;
  std::vector<std::string> variables = MergedEnvironment(options.environment);
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<char*> env = Pointers(variables);
  const std::string& program = options.argv.front();

  const int log = open(options.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  int report[2] = {-1, -1};
  if (log < 0 || null < 0 || pipe2(report, O_CLOEXEC) != 0) {
    const int error = errno;
    for (const int fd : {log, null, report[0], report[1]}) {
      if (fd >= 0) close(fd);
    }
    return StartError(absl::StrCat(program, " with log ", options.log_path), error);
  }
  const pid_t self = getpid();
  const pid_t pid = fork();
  if (pid == 0) BecomeChild(argv.data(), env.data(), log, null, report[1], self);
  const int fork_error = errno;
  for (const int fd : {log, null, report[1]}) close(fd);
  if (pid < 0) {
    close(report[0]);
    return StartError(program, fork_error);
  }
  // The pipe closes unread when exec succeeds.
  int error = 0;
  ssize_t got = 0;
  do {
    got = read(report[0], &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  close(report[0]);
  if (got == 0) return pid;
  waitpid(pid, nullptr, 0);
  return StartError(program, got == sizeof error ? error : EIO);
}

std::string ChildExit::ToString() const {
  if (!signalled) return absl::StrCat("exited with code ", code);
  const char* description = sigdescr_np(code);
  return absl::StrCat("was killed by signal ", code,
                      description != nullptr ? absl::StrCat(" (", description, ")") : "");
}

std::optional<ChildExit> TryReap(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, WNOHANG) != pid) return std::nullopt;
  if (WIFSIGNALED(status)) return ChildExit{true, WTERMSIG(status)};
  return ChildExit{false, WEXITSTATUS(status)};
}

}  // namespace gg
