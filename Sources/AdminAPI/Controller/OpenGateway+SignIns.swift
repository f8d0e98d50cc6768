internal import Audit
internal import SignIn
internal import TokenModel

/// The operations on sign-ins.
extension OpenGateway {
    /// Begins a sign-in. It changes no tokens yet; their arrival has a record of its own.
    func beginSignIn(_ request: SignInRequest, by actor: AuditActor) async throws(AdminError) -> SignInReport {
        let signIns = try self.requireSignIns()
        return try await self.audited(.beginSignIn, request.account, by: actor) { () async throws(AdminError) in
            do throws(SignInError) {
                return try await signIns.begin(
                    request.account,
                    request.way,
                    redirectURI: request.redirectURI,
                    replacesSubject: request.replacesSubject,
                    by: actor
                )
            } catch {
                throw AdminError(error, account: request.account)
            }
        } outcome: { _ in
            // Its end has a record of its own.
            "begun"
        } detail: {
            "by \($0.way.rawValue)\(request.replacesSubject ? ", for another subject" : "")"
        }
    }

    func signIn(_ id: SignInID) async throws(AdminError) -> SignInReport {
        let signIns = try self.requireSignIns()
        do throws(SignInError) { return try await signIns.report(on: id) } catch { throw AdminError(error) }
    }

    /// - Returns: the sign-in after its end, whatever that is.
    func answer(_ id: SignInID, _ answer: SignInAnswer) async throws(AdminError) -> SignInReport {
        let signIns = try self.requireSignIns()
        do throws(SignInError) { return try await signIns.answer(id, with: answer.address) } catch {
            throw AdminError(error)
        }
    }

    func cancelSignIn(_ id: SignInID, by actor: AuditActor) async throws(AdminError) -> SignInReport {
        let signIns = try self.requireSignIns()
        let standing = try await self.signIn(id)
        return try await self.audited(.cancelSignIn, of: .account(standing.account), by: actor) {
            () async throws(AdminError) in
            do throws(SignInError) { return try await signIns.cancel(id) } catch { throw AdminError(error) }
        }
    }

    /// Refuses a registrar a sign-in of an account that is not theirs.
    func requireRight(of administrator: Administrator?, to id: SignInID) async throws(AdminError) {
        guard case .registrar = administrator?.role else { return }
        try administrator.requireRight(to: try await self.signIn(id).account)
    }

    private func requireSignIns() throws(AdminError) -> SignInService {
        guard let signIns = self.signIns else { throw .noSuchPath }
        return signIns
    }
}
