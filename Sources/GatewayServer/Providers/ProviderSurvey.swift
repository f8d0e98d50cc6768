internal import Logging
internal import NIOPosix
internal import OAuth
package import ProviderClient
package import Settings
internal import TokenModel

/// Compares the metadata that a provider's issuer publishes with the configuration.
package struct ProviderSurvey: Sendable {
    private let settings: Settings.ProviderSettings
    private let finding: MetadataFinding

    package init(_ settings: Settings.ProviderSettings, _ finding: MetadataFinding) {
        self.settings = settings
        self.finding = finding
    }

    /// Fetches the metadata of all providers concurrently. It sends no token and no client credential.
    package static func ask(_ providers: [Settings.ProviderSettings]) async throws(StartError) -> [ProviderSurvey] {
        var endpoints: [(settings: Settings.ProviderSettings, endpoint: HTTPTokenEndpoint)] = []
        var failure: StartError?
        for settings in providers where failure == nil {
            do throws(StartError) {
                endpoints.append((settings, try Self.endpoint(settings)))
            } catch {
                failure = error
            }
        }
        let surveys = await withTaskGroup(of: (Int, ProviderSurvey).self) { questions in
            for (index, (settings, endpoint)) in endpoints.enumerated() {
                questions.addTask { (index, ProviderSurvey(settings, await endpoint.survey())) }
            }
            var surveys: [(Int, ProviderSurvey)] = []
            for await survey in questions { surveys.append(survey) }
            return surveys.sorted { $0.0 < $1.0 }.map(\.1)
        }
        for (_, endpoint) in endpoints { await endpoint.shutDown() }
        if let failure { throw failure }
        return surveys
    }

    private static func endpoint(_ provider: Settings.ProviderSettings) throws(StartError) -> HTTPTokenEndpoint {
        let settings = try ProviderClient.ProviderSettings(provider)
        do throws(ProviderSettingsError) {
            return try HTTPTokenEndpoint(
                settings,
                on: MultiThreadedEventLoopGroup.singleton,
                logger: Logger(label: "check") { _ in SwiftLogNoOpLogHandler() }
            )
        } catch {
            throw StartError(error, provider: provider.id)
        }
    }

    /// The findings as lines of text.
    package var lines: [String] {
        let name = "\(self.settings.id)"
        switch self.finding {
        case .notAsked:
            return ["\(name): no issuer to ask"] + self.endpoints(nil)
        case .found(let metadata, let address, _):
            return ["\(name): metadata at \(address)"] + self.endpoints(metadata)
        case .unreachable, .unusable:
            return ["\(name): no metadata of \(self.issuer)"] + self.endpoints(nil)
        }
    }

    /// The endpoints for tokens and revocation, and whether the configuration or the metadata names them.
    private func endpoints(_ metadata: ProviderMetadata?) -> [String] {
        let tokens = self.settings.tokenEndpoint.map { "\($0.text), as configured" } ?? metadata?.tokenEndpoint.text
        let revocation =
            self.settings.revocationEndpoint.map { "\($0.text), as configured" } ?? metadata?.revocationEndpoint?.text
        let isKnown = metadata != nil || self.settings.issuer == nil
        return [
            "  tokens from \(tokens ?? "nobody knows where")",
            revocation.map { "  revocation at \($0)" }
                ?? (isKnown
                    ? "  no revocation endpoint: a kill or a removal revokes nothing there; "
                        + "providers.\(self.settings.id).revocation_endpoint names one"
                    : "  revocation endpoint unknown"),
        ]
    }

    /// The failures found; empty if everything needed is known.
    package var complaints: [StartError] {
        let name = "provider \(self.settings.id)"
        switch self.finding {
        case .notAsked, .found: return []
        case .unreachable(let reason, let address):
            let help =
                reason == .tlsFailed
                ? "its certificate is not trusted for that name: check tls.ca of the provider"
                : "check issuer, name service and network"
            return [StartError(.unavailable, "\(name): \(address) can't be fetched (\(reason)); \(help)")]
        case .unusable(let places):
            return places.map { place in
                StartError(
                    .badConfiguration,
                    "\(name): what is at \(place.address) can't be used (\(place.error.rawValue), status \(place.status))"
                        + self.help(place)
                )
            }
        }
    }

    private func help(_ place: MetadataFinding.Unusable) -> String {
        guard place.error == .issuerDiffers else {
            return "; check issuer, or name token_endpoint and revocation_endpoint"
        }
        return "; it is of issuer \(place.issuer ?? "that can't be shown"), and the configuration says \(self.issuer)"
    }

    private var issuer: String { self.settings.issuer?.text ?? "" }
}
