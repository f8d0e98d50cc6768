internal import Synchronization

/// `POST /oauth/revoke` (RFC 7009).
struct RevocationEndpoint {
    let service: MockService

    func reply(to exchange: Exchange) async throws -> Reply {
        let form = try await ClientForm.read(exchange)
        let fault = self.service.state.withLock { $0.revocationArrived(path: exchange.head.path) }
        return try await FaultRule.reply(under: fault) {
            self.service.state.withLock { $0.count(RevocationOutcome.fault) }
        } process: {
            try self.process(form)
        }
    }

    /// An unknown token counts as revoked and gets a 200 too (RFC 7009 section 2.2).
    private func process(_ form: Result<ClientForm, GrantRefusal>) throws -> MockResponse {
        let outcome = self.service.state.withLock { state in
            let outcome = Result { () throws(GrantRefusal) in
                let form = try form.get()
                try form.authenticate()
                return state.ledger.revoke(try form.fields.require("token"), at: .now)
            }
            state.count((try? outcome.get()) == true ? RevocationOutcome.ok : .unknown)
            return outcome
        }
        return switch outcome {
        case .success: MockResponse(status: 200, fields: [HeaderField("Cache-Control", "no-store")])
        case .failure(let refusal): try .refusal(refusal)
        }
    }
}
