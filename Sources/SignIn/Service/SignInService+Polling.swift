internal import Logging
internal import OAuth
internal import ProviderClient
internal import Synchronization
internal import TokenModel
internal import TokenStorage

/// Asks a provider whether somebody has entered the code of a device (RFC 8628 §3.4).
///
/// Whoever asks moves the time of the next question on first, by a compare-and-set. So several replicas may follow one
/// sign-in, and each question is asked by one of them; if one ends, the others go on.
extension SignInService {
    /// Follows a device sign-in from this process too, until it has ended.
    func pollFromHere(_ id: SignInID) {
        guard self.polled.withLock({ $0.insert(id).inserted }) else { return }
        guard case .enqueued = self.newJobs.yield(.poll(id)) else {
            _ = self.polled.withLock { $0.remove(id) }
            return
        }
    }

    /// Follows the device sign-ins that an earlier process has begun.
    func resumePolling() async {
        let deadline = self.timepiece.now.boot.advanced(by: Self.lifetime)
        while true {
            do throws(StoreError) {
                for id in try await self.vault.devices() { self.pollFromHere(id) }
                return
            } catch {
                guard await self.mayTryAgain(until: deadline) else { return }
            }
        }
    }

    /// Asks until the sign-in has ended.
    func poll(_ id: SignInID) async {
        defer { _ = self.polled.withLock { $0.remove(id) } }
        // Even if the record can't be read, so that its own end is not known.
        let deadline = self.timepiece.now.boot.advanced(by: Self.lifetime)
        while !Task.isCancelled, self.timepiece.now.boot < deadline {
            let entry: SignInVault.Entry?
            do throws(StoreError) { entry = try await self.vault.read(id) } catch {
                await self.rest(.seconds(1))
                continue
            }
            let now = self.timepiece.now.wall
            guard let entry, case .device(let device) = entry.record.phase, now < entry.record.terms.expiresAt else {
                return
            }
            guard device.nextPollAt <= now else {
                await self.rest(min(now.duration(to: device.nextPollAt), Self.longestRest))
                continue
            }
            let claimed: SignInVault.Entry?
            do throws(StoreError) { claimed = try await self.claimQuestion(entry, device, at: now) } catch {
                // A store that can be read and not written must not be asked without a pause.
                await self.rest(.seconds(1))
                continue
            }
            guard let claimed else { continue }
            if await self.ask(claimed, device) { return }
        }
    }

    /// A clock that jumps must not keep a sign-in waiting for long.
    private static let longestRest = Duration.seconds(60)

    private func rest(_ time: Duration) async {
        await self.timepiece.rest(until: self.timepiece.now.boot.advanced(by: time))
    }

    /// Moves the next question on, so that nobody else asks now; `nil` if somebody else has.
    private func claimQuestion(
        _ entry: SignInVault.Entry,
        _ device: DeviceGrant,
        at now: WallTime,
        interval: Duration? = nil
    ) async throws(StoreError) -> SignInVault.Entry? {
        var next = device
        next.interval = interval ?? device.interval
        next.nextPollAt = now.advanced(by: next.interval)
        guard let name = entry.record.terms.id.name else { return nil }
        var record = entry.record
        record.phase = .device(next)
        return try await self.vault.write(record, at: name, over: entry)
    }

    /// - Returns: whether the sign-in has ended.
    private func ask(_ entry: SignInVault.Entry, _ device: DeviceGrant) async -> Bool {
        let terms = entry.record.terms
        guard let server = self.configuration().providers[terms.binding.provider]?.server,
            server.isSame(as: terms.binding)
        else {
            await self.write(self.failed(.otherProvider), of: terms)
            return true
        }
        if let killed = await self.killSince(terms) {
            await self.write(self.failed(killed), of: terms)
            return true
        }
        let verdict = await server.redeem(device: device.code, of: terms.binding.issuer)
        switch (verdict, verdict.reason?.rawValue) {
        case (.refused, "authorization_pending"), (.notSent, _), (.throttled, _), (.ambiguous, _), (.notProvider, _):
            // A lost answer may have had the tokens. The provider says so at the next question.
            return false
        case (.refused, "slow_down"):
            // By 5 s, for this and all later questions (§3.5).
            _ = try? await self.claimQuestion(
                entry,
                device,
                at: self.timepiece.now.wall,
                interval: device.interval + .seconds(5)
            )
            return false
        case (.refused, "access_denied"):
            await self.write(self.failed(.refusal(verdict.reason)), of: terms)
        case (.refused, "expired_token"):
            await self.write(self.failed(.expired), of: terms)
        case (.success, _), (.rotated, _):
            if let claim = await self.claimTokens(of: terms) {
                await self.write(await self.conclude(terms, claim, verdict, nonce: nil, server), of: terms, by: claim)
            } else {
                await self.write(await self.discard(verdict, terms, server), of: terms)
            }
        default:
            // Another replica may have the tokens in hand, so the sign-in is not taken for this.
            await self.write(self.failed(SignInFailure(verdict) ?? .otherProvider), of: terms)
        }
        return true
    }

    /// Takes a sign-in whose tokens have come. From then on nobody cancels it. Another replica may have written that it
    /// failed: it has asked for tokens that this process has got.
    ///
    /// - Returns: `nil` if the tokens are not wanted any more, or if the store does not say for so long that they could not
    ///   be stored either.
    private func claimTokens(of terms: SignInRecord.Terms) async -> ClaimID? {
        let claim = ClaimID.random()
        let deadline = self.timepiece.now.boot.advanced(by: Self.claimPatience)
        while true {
            do throws(StoreError) {
                while let entry = try await self.vault.read(terms.id), let name = terms.id.name {
                    var record = entry.record
                    switch record.phase {
                    case .device: break
                    case .ended(let end) where end.word == .failed: break
                    // An earlier try, of which the store did not say what became.
                    case .redeeming(claim, _): return claim
                    case .unopened, .asked, .redeeming, .ended: return nil
                    }
                    record.phase = .redeeming(claim, until: self.timepiece.now.wall.advanced(by: .seconds(180)))
                    if try await self.vault.write(record, at: name, over: entry) != nil { return claim }
                }
                return nil
            } catch {
                guard await self.mayTryAgain(until: deadline) else { return nil }
            }
        }
    }

    private static let claimPatience = Duration.seconds(60)
}
