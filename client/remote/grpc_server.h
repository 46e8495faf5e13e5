// The server over gRPC and mutual TLS. The only part of the client that knows gRPC.
#ifndef PARITECT_CLIENT_REMOTE_GRPC_SERVER_H_
#define PARITECT_CLIENT_REMOTE_GRPC_SERVER_H_

#include "client/remote/remote_server.h"

namespace paritect {

// The process's connector. The first call to a server tries the credential's addresses in order until one answers; a
// server that cannot be reached is asked once more by hand (tls_probe.h), to say why.
RemoteConnector& GrpcConnector();

}  // namespace paritect

#endif  // PARITECT_CLIENT_REMOTE_GRPC_SERVER_H_
