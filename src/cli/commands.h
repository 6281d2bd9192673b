// The subcommands. Each takes its own arguments (argv[0] is its name) and returns the exit status.
#pragma once

namespace ew::cli {

constexpr int status_ok = 0;
constexpr int status_failure = 1;
constexpr int status_usage = 2;

int approvals(int argc, char** argv);
int audit(int argc, char** argv);
int config(int argc, char** argv);
int doctor(int argc, char** argv);
int patch(int argc, char** argv);
int policy(int argc, char** argv);
int project(int argc, char** argv);
int serve(int argc, char** argv);
int replay(int argc, char** argv);
int run(int argc, char** argv);
int schema(int argc, char** argv);

} // namespace ew::cli
