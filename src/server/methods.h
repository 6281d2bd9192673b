// Maps the name of a method to the service that answers it.
#pragma once

#include "base/result.h"
#include "protocol/envelope.h"
#include "protocol/methods.h"
#include "server/connection/reply.h"

namespace ew::server {

class ApprovalRequests;
class ExecService;
class FileService;
class PatchService;
class ProcessRequests;
class RemoteBackend;
class Session;

// Returns the method of a request. Errors: unknown_method; not_initialized and similar if the
// session does not accept the method now; invalid_params if the request has params and the method
// takes none.
Result<protocol::Method> check_request(const Session& session, const protocol::Message& request);

// The services that answer requests; borrowed, never null.
struct Services {
    Session* session;
    ProcessRequests* processes;
    ExecService* exec;
    PatchService* patches;
    FileService* files;
    ApprovalRequests* approvals;
    RemoteBackend* remote;
};

class Methods {
public:
    explicit Methods(const Services& services) : services_(services) {}

    // Decodes the params and passes the request to its service, which answers now or later.
    void handle(protocol::Method method, Reply reply, const protocol::Message& request) const;

private:
    // Returns null if the name is reserved and no service answers it.
    using Handler = void (Methods::*)(Reply reply, const json::Value* params) const;
    static Handler handler_of(protocol::Method method);
    template <class Params, auto service>
    void pass_on(Reply reply, const json::Value* params) const;
    template <auto service>
    void list(Reply reply, const json::Value* params) const;
    void run_command(Reply reply, const json::Value* params) const;
    void initialize(Reply reply, const json::Value* params) const;
    void shut_down(Reply reply, const json::Value* params) const;
    void configure(Reply reply, const json::Value* params) const;
    void tell_environment(Reply reply, const json::Value* params) const;
    void tell_status(Reply reply, const json::Value* params) const;
    void list_environments(Reply reply, const json::Value* params) const;

    Services services_;
};

} // namespace ew::server
