internal import HTTPTypes

/// What the dashboard serves besides the API.
enum DashboardPath: String, Sendable, CaseIterable {
    case page = "/"
    case style = "/dashboard.css"
    case script = "/dashboard.js"
    case emblem = "/martlet.svg"
    /// Where operators sign in (`POST`) and out (`DELETE`).
    case session = "/session"

    /// - Parameter request: what it asks for is taken as it stands in its head: a path with odd bytes must not be read as
    ///   another that has none.
    init?(of request: HTTPRequest) {
        guard let path = request.path?.prefix(while: { $0 != "?" }) else { return nil }
        self.init(rawValue: String(path))
    }

    var methods: [HTTPRequest.Method] {
        switch self {
        case .page, .style, .script, .emblem: [.get, .head]
        case .session: [.post, .delete]
        }
    }

    /// The file that is served; `nil` where there is none. It is in the program: a container needs no files beside it.
    var file: (contentType: String, bytes: [UInt8])? {
        switch self {
        case .page: ("text/html; charset=utf-8", PackageResources.dashboard_html)
        case .style: ("text/css; charset=utf-8", PackageResources.dashboard_css)
        case .script: ("text/javascript; charset=utf-8", PackageResources.dashboard_js)
        case .emblem: ("image/svg+xml", PackageResources.martlet_svg)
        case .session: nil
        }
    }
}
