internal import TokenModel
internal import TokenStorage

/// The commands on records. All but the plain read are scripts in Lua, because several keys change or are read at one
/// moment.
///
/// A script's text is sent each time: it is shorter than most records, the server keeps it compiled, and there is no case
/// of a server that does not know its digest, as after each failover. Versions are compared as texts of eight bytes; Lua's
/// numbers have only 53 bits.
enum Script {
    /// The result of a script, its first element.
    enum Outcome: String {
        case done
        /// The record that is there follows.
        case conflict
        /// The mark is missing, or another one.
        case lost
        /// What is there is not a record.
        case damaged
        /// There is nothing at the keys.
        case nothing
        /// Something else is at the keys.
        case other

        init?(_ reply: RESPValue) {
            guard let word = reply.elements?.first?.text, let outcome = Outcome(rawValue: word) else { return nil }
            self = outcome
        }
    }

    // MARK: - Opening

    /// Makes the mark where it is missing, if `mark` is not empty. Also tries every right that changes need, without
    /// changing anything: a script that lacks one in its middle leaves half a change.
    ///
    /// - Returns: the command; its reply has an ``Outcome``, and the mark that is there.
    static func prepare(_ layout: Layout, mark: [UInt8]) -> Command {
        self.command(Self.preparing, layout, [mark, Array(layout.channel.utf8)])
    }

    private static let preparing = """
        local mark = redis.call('HMGET', KEYS[1], '\\255')[1]
        if not mark then
            if redis.call('HLEN', KEYS[1]) > 0 or redis.call('ZCARD', KEYS[2]) > 0 then return {'other'} end
            if ARGV[1] == '' then return {'nothing'} end
        end
        redis.call('ZSCORE', KEYS[2], '\\255')
        redis.call('ZADD', KEYS[2], 'XX', 0, '\\255')
        redis.call('ZREM', KEYS[2], '\\255')
        redis.call('HDEL', KEYS[1], '\\254')
        redis.call('PUBLISH', ARGV[2], '')
        if not mark then
            mark = ARGV[1]
            redis.call('HSET', KEYS[1], '\\255', mark)
        end
        return {'done', mark}
        """

    // MARK: - Records

    /// Reads the mark, and nothing else.
    static func readMark(_ layout: Layout) -> Command { Command(["HMGET", layout.records], [Layout.markField]) }

    /// Reads a record. The reply has the value, and the mark.
    static func read(_ layout: Layout, _ key: RecordKey) -> Command {
        Command(["HMGET", layout.records], [Array(key.rawValue.utf8), Layout.markField])
    }

    /// Writes a record as `version` if `expecting` is there.
    static func write(
        _ value: SealedBytes,
        _ layout: Layout,
        _ change: RecordChange,
        as version: Version,
        expecting: Version?,
        mark: [UInt8],
        sender: UInt64
    ) -> Command {
        self.change(layout, change, expecting, mark, sender, [Layout.value(value, as: version)])
    }

    /// Removes a record if `expecting` is there.
    static func remove(
        _ layout: Layout,
        _ change: RecordChange,
        expecting: Version,
        mark: [UInt8],
        sender: UInt64
    ) -> Command {
        self.change(layout, change, expecting, mark, sender, [])
    }

    private static func change(
        _ layout: Layout,
        _ change: RecordChange,
        _ expecting: Version?,
        _ mark: [UInt8],
        _ sender: UInt64,
        _ value: [[UInt8]]
    ) -> Command {
        let arguments = [
            mark, Array(change.key.rawValue.utf8), expecting?.rawValue.bigEndianBytes ?? [],
            Array(layout.channel.utf8), Layout.hint(of: change, by: sender, mark: mark),
        ]
        return self.command(Self.changing, layout, arguments + value)
    }

    /// Without a value, the record is removed.
    private static let changing = """
        local found = redis.call('HMGET', KEYS[1], ARGV[2], '\\255')
        if found[2] ~= ARGV[1] then return {'lost'} end
        local current, listed = found[1], redis.call('ZSCORE', KEYS[2], ARGV[2])
        if (current and not listed) or (listed and not current) then return {'damaged'} end
        if current and #current < 8 then return {'damaged'} end
        if (current and string.sub(current, 1, 8) or '') ~= ARGV[3] then return {'conflict', current} end
        if ARGV[6] then
            redis.call('HSET', KEYS[1], ARGV[2], ARGV[6])
            if not current then redis.call('ZADD', KEYS[2], 0, ARGV[2]) end
        else
            redis.call('HDEL', KEYS[1], ARGV[2])
            redis.call('ZREM', KEYS[2], ARGV[2])
        end
        redis.call('PUBLISH', ARGV[4], ARGV[5])
        return {'done'}
        """

    /// A page. The reply has an ``Outcome``, and then keys and values by turns.
    static func page(
        _ layout: Layout,
        _ prefix: RecordKey.Prefix,
        after: RecordKey?,
        limit: Int,
        mark: [UInt8]
    ) -> Command {
        let bounds = prefix.bounds(after: after)
        let arguments = [
            mark, [UInt8(ascii: "[")] + bounds.start, [UInt8(ascii: "(")] + bounds.end, Array(String(limit).utf8),
        ]
        return self.command(Self.listing, layout, arguments)
    }

    /// Values are read sixteen at a time, so that one read beyond the page costs little, and none exceeds what Lua can
    /// unpack. The hash has one field more than there are keys, the mark. If it has not, a record is missing on some page,
    /// perhaps on this one.
    private static let listing = """
        if redis.call('HMGET', KEYS[1], '\\255')[1] ~= ARGV[1] then return {'lost'} end
        if redis.call('HLEN', KEYS[1]) ~= redis.call('ZCARD', KEYS[2]) + 1 then return {'damaged'} end
        local keys = redis.call('ZRANGE', KEYS[2], ARGV[2], ARGV[3], 'BYLEX', 'LIMIT', 0, ARGV[4])
        local page, bytes = {'done'}, 0
        for first = 1, #keys, 16 do
            local values = redis.call('HMGET', KEYS[1], unpack(keys, first, math.min(first + 15, #keys)))
            for index, value in ipairs(values) do
                if not value or #value < 8 then return {'damaged'} end
                bytes = bytes + #value - 8
                if bytes > \(StoreGuarantees.largestPage) and #page > 1 then return page end
                page[#page + 1] = keys[first + index - 1]
                page[#page + 1] = value
            end
        end
        return page
        """

    private static func command(_ script: String, _ layout: Layout, _ arguments: [[UInt8]]) -> Command {
        Command(["EVAL", script, "2", layout.records, layout.keys], arguments)
    }
}
