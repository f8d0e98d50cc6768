import HTTPWire
import Proxy
import Testing
import TokenModel

@Suite struct RouteTableTests {
    /// A table of routes, each with a name, a path and an optional host.
    private func table(_ routes: [(String, host: String?, path: String)]) -> RouteTable {
        RouteTable(
            routes.map { name, host, path in
                .sample(port: 1) { plan in
                    plan.name = name
                    plan.host = host
                    plan.path = path
                }
            }
        )
    }

    private func match(_ table: RouteTable, _ target: String, host: String = "a", method: String = "GET") throws
        -> RouteTable.Found?
    {
        let request = try RequestHead.parsed("\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        do throws(GatewayError) {
            return try table.find(request)
        } catch {
            #expect(error.code == .noRoute)
            return nil
        }
    }

    @Test(arguments: [
        ("/acme/", "/acme/", 6),
        ("/acme/", "/acme/users?page=2", 6),
        ("/acme/", "/acme/a/b/", 6),
        ("/acme/v1/", "/acme/v1/x", 9),
        ("/", "/", 1),
        ("/", "/anything", 1),
        // Segments are compared decoded. The prefix to replace is counted in raw bytes.
        ("/acme/", "/%61cme/x", 8),
        ("/acme/", "/%61%63%6D%65/x", 14),
        ("/acme/", "/acme/%61", 6),
        ("/a%20b/", "/a%20b/x", 7),
        ("/%C3%A4/", "/%C3%A4/x", 8),
        ("/a%25b/", "/a%25b/x", 7),
        ("/a%5Bb/", "/a[b/x", 5),
        // An encoded slash stays within its segment.
        ("/a%2Fb/", "/a%2Fb/x", 7),
        ("/a%2Fb/", "/%61%2fb/x", 9),
        ("/a%2Fb/c/", "/a%2Fb/c/", 9),
        ("/", "/%61", 1),
    ])
    func `a route's path covers the raw bytes of its segments in the target`(path: String, target: String, prefix: Int)
        throws
    {
        let match = try self.match(self.table([("r", nil, path)]), target)
        #expect(match?.prefix == prefix)
    }

    @Test(arguments: [
        ("/acme/", "/acme"),
        ("/acme/", "/acmex/"),
        ("/acme/", "/ACME/"),
        ("/acme/", "/"),
        ("/acme/", "/x/acme/"),
        ("/acme/v1/", "/acme/v2/"),
        ("/acme/v1/", "/acme/"),
        // An encoded slash is no separator.
        ("/acme/", "/acme%2F"),
        ("/acme/", "/acme%2fx/"),
        ("/a/b/", "/a%2Fb/"),
        ("/a%2Fb/", "/a/b/"), ("/a%2Fb/", "/a/b/%78"), ("/a%2Fb/", "/a%252Fb/"),
        ("/acme/", "/%61cme"), ("/acme/", "/%41cme/"),
        ("/acme/", "/acme%20/"),
        // A path is decoded only once.
        ("/acme/", "/%2561cme/"),
    ])
    func `only whole segments match`(path: String, target: String) throws {
        let match = try self.match(self.table([("r", nil, path)]), target)
        #expect(match == nil)
    }

    @Test(arguments: [
        ("api.local", true), ("API.Local", true), ("api.local:8080", true), ("api.local.evil", false),
        ("x.api.local", false), ("other", false),
    ])
    func `a host is compared without regard to case and port`(host: String, matches: Bool) throws {
        let table = self.table([("r", "Api.Local", "/acme/")])
        let match = try self.match(table, "/acme/", host: host)
        #expect((match != nil) == matches)
    }

    @Test func `an IPv6 host is compared without its port`() throws {
        let table = self.table([("r", "[::1]", "/")])
        #expect(try self.match(table, "/", host: "[::1]:8080") != nil)
        #expect(try self.match(table, "/", host: "[::1]") != nil)
        #expect(try self.match(table, "/", host: "[::2]") == nil)
    }

    @Test(arguments: [
        ("api", "/a/b/c", "host short"), ("other", "/a/b/c", "long"), ("other", "/a/x", "short"),
        ("other", "/x", "root"),
        ("api", "/x", "root"),
    ])
    func `a route with a host beats one without, then the longest path wins`(host: String, target: String, name: String)
        throws
    {
        let routes: [(String, host: String?, path: String)] = [
            ("root", nil, "/"), ("short", nil, "/a/"), ("long", nil, "/a/b/"), ("host short", "api", "/a/"),
        ]
        for table in [self.table(routes), self.table(routes.reversed())] {
            let match = try self.match(table, target, host: host)
            #expect(match?.route.plan.name == name)
        }
    }

    @Test func `OPTIONS * takes the route of the whole host, and keeps its target`() throws {
        let match = try self.match(self.table([("r", nil, "/")]), "*", method: "OPTIONS")
        #expect(match?.prefix == 0)
        #expect(try self.match(self.table([("r", nil, "/acme/")]), "*", method: "OPTIONS") == nil)
    }

    @Test(arguments: [
        ("http://api/acme/x", "api", 6), ("http://api:81/acme/x", "api:81", 6), ("https://API/acme/", "api", 6),
    ])
    func `an absolute target names the host`(target: String, host: String, prefix: Int) throws {
        let match = try self.match(self.table([("r", "api", "/acme/")]), target, host: host)
        #expect(match?.prefix == prefix)
    }

    @Test func `an absolute target without a path is the root`() throws {
        let match = try self.match(self.table([("r", nil, "/")]), "http://a")
        #expect(match?.prefix == 0)
        #expect(try self.match(self.table([("r", nil, "/acme/")]), "http://a") == nil)
    }

    @Test(arguments: [
        ("api.example", 80, "api.example"), ("api.example", 8080, "api.example:8080"), ("::1", 80, "[::1]"),
        ("::1", 9090, "[::1]:9090"),
    ])
    func `an authority has the port unless it is the scheme's default, and an IPv6 address in brackets`(
        host: String,
        port: Int,
        authority: String
    ) {
        #expect(RouteConfiguration.Upstream(host: host, port: port, path: "/").authority == authority)
    }

    @Test func `a table without routes matches nothing`() throws {
        #expect(try self.match(RouteTable([]), "/") == nil)
    }

    @Test func `routes of one account share its slot, and routes of one upstream share its pool`() {
        let table = RouteTable([
            .sample(port: 1) { $0.name = "a" },
            .sample(port: 1) { plan in
                plan.name = "b"
                plan.path = "/b/"
                plan.injection = Injection(header: "X-Key", prefix: "")
            },
            .sample(port: 2) { plan in
                plan.name = "c"
                plan.path = "/c/"
                plan.account = .fixed(AccountID("bob"))
            },
        ])
        let routes = Dictionary(uniqueKeysWithValues: table.routes.map { ($0.plan.name, $0) })
        #expect(routes["a"]?.slot == routes["b"]?.slot)
        #expect(routes["a"]?.line != routes["b"]?.line)
        #expect(routes["a"]?.pool == routes["b"]?.pool)
        #expect(routes["a"]?.slot != routes["c"]?.slot)
        #expect(routes["a"]?.pool != routes["c"]?.pool)
        #expect(table.slots.count == 2)
    }
}
