internal import SystemSupport
package import TokenModel

/// The file `locked` in a `state_dir`: while it is there, every start on that directory is locked, even with all keys at
/// hand.
///
/// Runs on a dispatch queue of its own, because its calls block.
package actor LockFile {
    private let executor = BlockingExecutor(label: "martlet.lock")
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe self.executor.asUnownedSerialExecutor()
    }

    private let path: String

    package init(in stateDirectory: String) { self.path = "\(stateDirectory)/locked" }

    /// The lock that stands; `nil` if there is none. A file that can't be read or understood stands for a lock too, and
    /// the reason of that lock is what is wrong with the file.
    package func read() -> LockNote? {
        do throws(StoreError) {
            guard let bytes = try KeptBytes.read(self.path, limit: Self.sizeLimit, of: .lock) else { return nil }
            return try LockNote(decoding: bytes)
        } catch {
            return LockNote(reason: error.message)
        }
    }

    /// In bytes. A reason has a few hundred, and a name of a replica a few dozen.
    private static let sizeLimit = 1 << 20

    /// Locks every start from now on. The lock survives a power loss once this returns.
    ///
    /// - Throws: ``StoreError/Code/unwritable``.
    package func write(_ note: LockNote) throws(StoreError) {
        do throws(SystemCallError) {
            try WholeFile.replace(at: self.path, with: KeptBytes.file(of: note.encoded()))
        } catch {
            throw StoreError(.unwritable, error.message)
        }
    }

    /// Ends the lock. If there is none, nothing happens.
    ///
    /// - Throws: ``StoreError/Code/unwritable``.
    package func remove() throws(StoreError) {
        do throws(SystemCallError) {
            try PrivateDirectory.remove(self.path)
            try WholeFile.synchronize(directory: WholeFile.directory(of: self.path))
        } catch {
            throw StoreError(.unwritable, error.message)
        }
    }
}

/// Why a gateway is locked, as far as it is known without a store.
package struct LockNote: Equatable, Sendable {
    /// For people. Never contains a secret.
    package let reason: String
    /// Who locked it, and from where; `nil` where that is unknown.
    package let requester: String?
    /// `nil` where that is unknown.
    package let at: WallTime?
    /// Whether the kill log has the lock too, for all replicas.
    package let isForAllReplicas: Bool
    /// The names of the replicas that shared the store at that time.
    package let otherReplicas: [String]
    /// The store that was open at that time.
    package let store: StoreID?

    package init(
        reason: String,
        requester: String? = nil,
        at: WallTime? = nil,
        isForAllReplicas: Bool = false,
        otherReplicas: [String] = [],
        store: StoreID? = nil
    ) {
        self.reason = reason
        self.requester = requester
        self.at = at
        self.isForAllReplicas = isForAllReplicas
        self.otherReplicas = otherReplicas
        self.store = store
    }
}

extension LockNote {
    private static let format: UInt8 = 1

    fileprivate func encoded() -> Secret {
        let writer = FieldWriter(format: Self.format)
        writer.write(self.reason)
        writer.write(self.requester) { writer.write($0) }
        writer.write(self.at) { writer.write($0.millisecondsSince1970) }
        writer.write(self.isForAllReplicas)
        writer.write(self.otherReplicas) { writer.write($0) }
        writer.write(self.store) { writer.write($0.rawValue) }
        return writer.finish()
    }

    fileprivate init(decoding bytes: Secret) throws(StoreError) {
        var reader = try FieldReader(bytes, formats: Self.format...Self.format)
        self.reason = try reader.read()
        self.requester = try reader.readOptional { reader throws(StoreError) in try reader.read() }
        self.at = try reader.readOptional { reader throws(StoreError) in
            WallTime(millisecondsSince1970: try reader.read())
        }
        self.isForAllReplicas = try reader.read()
        self.otherReplicas = try reader.readArray { reader throws(StoreError) in try reader.read() }
        self.store = try reader.readOptional { reader throws(StoreError) in StoreID(rawValue: try reader.read()) }
        try reader.finish()
    }
}
