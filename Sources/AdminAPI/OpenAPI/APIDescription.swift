/// The paths of the API, as the OpenAPI description names them. Each ``AdminRoute`` has one.
package enum AdminPath: String, Sendable, CaseIterable {
    case health = "/healthz"
    case readiness = "/readyz"
    case metrics = "/metrics"
    case description = "/openapi.json"
    case status = "/v1/status"
    case history = "/v1/history"
    case accounts = "/v1/accounts"
    case account = "/v1/accounts/{name}"
    case tokens = "/v1/accounts/{name}/tokens"
    case refresh = "/v1/accounts/{name}/refresh"
    case adoption = "/v1/accounts/{name}/adopt"
    case imports = "/v1/imports"
    case signIns = "/v1/logins"
    case signIn = "/v1/logins/{id}"
    case killing = "/v1/kill"
    case revival = "/v1/revive"
    case kills = "/v1/kills"
    case kill = "/v1/kills/{id}"
    case killedTokens = "/v1/kills/{id}/tokens"
    case replicas = "/v1/replicas"
    case replica = "/v1/replicas/{name}"
    case audit = "/v1/audit"
    case caches = "/v1/cache"
    case cachePurge = "/v1/cache/purge"
    case lock = "/v1/lock"
    case unlock = "/v1/unlock"
    case approvals = "/v1/approvals"
}

/// The OpenAPI description of the admin API: every path, method, body and answer. It is part of the program, so it
/// describes exactly the API that serves it.
///
/// Any administrator but a registrar may read it. It holds no secret, but to everybody else the listener says nothing about which paths
/// there are, and responds 401 to all of them.
enum APIDescription {
    /// The registered type is `application/vnd.oai.openapi+json`; few tools know it.
    static let contentType = "application/json"

    static var bytes: [UInt8] { PackageResources.openapi_json }
}
