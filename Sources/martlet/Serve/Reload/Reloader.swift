internal import AdminAPI
internal import Logging
internal import Proxy
internal import Settings

/// Reads the configuration again while the gateway runs: all that may fail first, then all that changes, so that a bad
/// file or certificate changes nothing.
///
/// What changes so far is certificates and admin tokens. The rest is compared with what runs, and said to need a restart.
struct Reloader: Sendable {
    /// Of the configuration.
    let path: String
    /// What the gateway was started with.
    let running: GatewaySettings
    let proxy: ProxyServer
    let admin: AdminServer
    let logger: Logger

    /// All that a reload puts in place, read and found good.
    private struct Prepared {
        let settings: GatewaySettings
        let plan: ProxyPlan
        /// `nil` where they are another file's from the next start on.
        let tokens: AdminTokens?
    }

    /// Why there is nothing to put in place.
    private struct Refusal: Error {
        let news: ReloadNews
        let reasons: [String]
    }

    func reload() {
        do throws(Refusal) {
            let prepared = try self.prepare()
            self.report(prepared, renewed: self.commit(prepared))
        } catch {
            for reason in error.reasons {
                self.logger.error(
                    "the configuration was not read again, nothing has changed",
                    metadata: ["config.code": "\(error.news.rawValue)", "config.finding": "\(reason)"]
                )
            }
        }
    }

    private func prepare() throws(Refusal) -> Prepared {
        let settings: GatewaySettings
        do throws(SettingsError) {
            settings = try SettingsFile.load(path: self.path)
        } catch {
            throw Refusal(news: .invalid, reasons: error.faults.map(\.description))
        }
        let plan: ProxyPlan
        do throws(CommandFailure) {
            plan = try ProxyPlan(
                settings,
                connections: settings.limits.connections,
                eventLoops: EventLoopCount.standard
            )
        } catch {
            throw Refusal(news: .certificateUnusable, reasons: [error.message])
        }
        guard settings.admin.tokenFile == self.running.admin.tokenFile else {
            return Prepared(settings: settings, plan: plan, tokens: nil)
        }
        do throws(AdminTokenError) {
            let tokens = try AdminTokenFile(path: settings.admin.tokenFile).read()
            return Prepared(settings: settings, plan: plan, tokens: tokens)
        } catch {
            throw Refusal(news: .tokensUnusable, reasons: [error.message])
        }
    }

    /// - Returns: what is different now, as the file names it.
    private func commit(_ prepared: Prepared) -> [String] {
        let renewal = self.proxy.renewCertificates(from: prepared.plan)
        var renewed = renewal.listeners.map { "listener \($0)" } + renewal.routes.map { "route \($0)" }
        if let tokens = prepared.tokens, self.admin.replaceTokens(tokens) { renewed.append("admin tokens") }
        return renewed
    }

    private func report(_ prepared: Prepared, renewed: [String]) {
        for warning in prepared.settings.warnings {
            self.logger.warning("the configuration should be looked at", metadata: ["config.finding": "\(warning)"])
        }
        let needs = RestartNeeds(from: self.running, to: prepared.settings).parts
        if !needs.isEmpty {
            self.logger.warning(
                "what was changed in the configuration needs a restart",
                metadata: [
                    "config.code": "\(ReloadNews.restartNeeded.rawValue)",
                    "config.parts": "\(needs.joined(separator: ", "))",
                ]
            )
        }
        self.logger.info(
            "the configuration was read again",
            metadata: [
                "config.code": "\(ReloadNews.reloaded.rawValue)",
                "config.renewed": "\(renewed.isEmpty ? "nothing" : renewed.joined(separator: ", "))",
            ]
        )
    }
}
