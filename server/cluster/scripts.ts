/**
 * Scripts that relays run in Redis (docs/decisions/0009-cluster.md). Each runs atomically, so relays do not interfere
 * with each other. Keys are named within the scripts, so Redis must be one server, not a Redis Cluster.
 */

/** A script and how the client library declares it. */
export interface Script {
  readonly name: string;
  readonly lua: string;
}

/**
 * A tunnel's entry is `number incarnation fence key`, or `- time fence` once its client has left. `alive` checks
 * whether the named relay still has its lease.
 */
const COMMON = `
local function entry(id)
  local value = redis.call('GET', 'culvert:tunnel:' .. id)
  if not value then return nil end
  local parts = {}
  for part in string.gmatch(value, '%S+') do parts[#parts + 1] = part end
  return parts
end
local function alive(parts)
  local lease = redis.call('GET', 'culvert:relay:' .. parts[1])
  return lease and string.match(lease, '^%S+') == parts[2]
end
local function micros()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end
local function since()
  redis.call('SET', 'culvert:since', string.format('%.0f', micros()), 'NX')
  return redis.call('GET', 'culvert:since')
end
`;

/**
 * Renews or takes a number, and publishes the relay's address to everyone. ARGV: number, incarnation, address, lease
 * in ms.
 *
 * @returns 1; 2 if it did not exist, so that other relays may have considered this one dead; 0 if another incarnation
 *   has the number
 */
export const LEASE: Script = {
  name: 'culvertLease',
  lua: `${COMMON}
local key = 'culvert:relay:' .. ARGV[1]
local lease = redis.call('GET', key)
if lease and string.match(lease, '^%S+') ~= ARGV[2] then return 0 end
redis.call('SET', key, ARGV[2] .. ' ' .. ARGV[3], 'PX', ARGV[4])
redis.call('SADD', 'culvert:relays', ARGV[1])
since()
if not lease then
  redis.call('PUBLISH', 'culvert:all', table.concat({'relay', ARGV[1], ARGV[2], ARGV[3]}, ' '))
end
return lease and 1 or 2`,
};

/** Releases a number. ARGV: number, incarnation. */
export const LEAVE: Script = {
  name: 'culvertLeave',
  lua: `
local lease = redis.call('GET', 'culvert:relay:' .. ARGV[1])
if lease and string.match(lease, '^%S+') == ARGV[2] then
  redis.call('DEL', 'culvert:relay:' .. ARGV[1])
  redis.call('SREM', 'culvert:relays', ARGV[1])
end`,
};

/** @returns number, incarnation, address of each relay with a lease, one after the other */
export const RELAYS: Script = {
  name: 'culvertRelays',
  lua: `
local all = {}
for _, number in ipairs(redis.call('SMEMBERS', 'culvert:relays')) do
  local lease = redis.call('GET', 'culvert:relay:' .. number)
  if lease then
    local incarnation, address = string.match(lease, '^(%S+) (%S+)$')
    all[#all + 1] = number
    all[#all + 1] = incarnation
    all[#all + 1] = address
  else
    redis.call('SREM', 'culvert:relays', number)
  end
end
return all`,
};

/**
 * Enters a new control socket, notifies the relay of the previous one, and tells everyone that the client is
 * connected. ARGV: tunnel, number, incarnation, key id, ms to keep the entry.
 *
 * @returns its fencing number, as a text
 */
export const CLAIM: Script = {
  name: 'culvertClaim',
  lua: `${COMMON}
local before = entry(ARGV[1])
local last = tonumber(redis.call('GET', 'culvert:fence') or '0')
if before then last = math.max(last, tonumber(before[3])) end
local fence = string.format('%.0f', math.max(last + 1, micros()))
redis.call('SET', 'culvert:fence', fence)
redis.call('SET', 'culvert:tunnel:' .. ARGV[1], table.concat({ARGV[2], ARGV[3], fence, ARGV[4]}, ' '), 'PX', ARGV[5])
if before and before[1] ~= '-' and before[2] ~= ARGV[3] then
  redis.call('PUBLISH', 'culvert:to:' .. before[2], 'replaced ' .. ARGV[1] .. ' ' .. fence)
end
redis.call('PUBLISH', 'culvert:all', 'online ' .. ARGV[1] .. ' ' .. ARGV[3])
return fence`,
};

/**
 * Publishes control sockets again. ARGV: number, incarnation, ms to keep the entries, then tunnel, fence and key id of
 * each.
 *
 * @returns the tunnels with a newer one on another relay
 */
export const ASSERT: Script = {
  name: 'culvertAssert',
  lua: `${COMMON}
local lost = {}
for i = 4, #ARGV, 3 do
  local held = entry(ARGV[i])
  local fence = tonumber(ARGV[i + 1])
  if held and held[2] == ARGV[2] then fence = math.max(fence, tonumber(held[3])) end
  if held and tonumber(held[3]) > fence then
    lost[#lost + 1] = ARGV[i]
  else
    local value = table.concat({ARGV[1], ARGV[2], string.format('%.0f', fence), ARGV[i + 2]}, ' ')
    redis.call('SET', 'culvert:tunnel:' .. ARGV[i], value, 'PX', ARGV[3])
    if not held or held[2] ~= ARGV[2] then redis.call('PUBLISH', 'culvert:all', 'online ' .. ARGV[i] .. ' ' .. ARGV[2]) end
  end
end
return lost`,
};

/** A control socket has ended. ARGV: tunnel, incarnation, ms to keep the entry. */
export const RELEASE: Script = {
  name: 'culvertRelease',
  lua: `${COMMON}
local held = entry(ARGV[1])
if held and held[2] == ARGV[2] then
  local left = string.format('%.0f', micros())
  redis.call('SET', 'culvert:tunnel:' .. ARGV[1], table.concat({'-', left, held[3]}, ' '), 'PX', ARGV[3])
  redis.call('PUBLISH', 'culvert:all', 'offline ' .. ARGV[1])
end`,
};

/**
 * Finds the relay with a tunnel's control socket. ARGV: tunnel, incarnation of the relay that asks.
 *
 * @returns the incarnation of another relay with a lease that listens to Redis; or the ms since the client has left. A client that never
 *   connected counts as having left when Redis began to record anything: relays may still be publishing it.
 */
export const FIND: Script = {
  name: 'culvertFind',
  lua: `${COMMON}
local held = entry(ARGV[1])
if not held then held = {'-', redis.call('GET', 'culvert:since') or '0'} end
if held[1] == '-' then return math.floor((micros() - tonumber(held[2])) / 1000) end
if held[2] == ARGV[2] then return 0 end
if alive(held) and redis.call('PUBSUB', 'NUMSUB', 'culvert:to:' .. held[2])[2] > 0 then return held[2] end
local left = string.format('%.0f', micros())
redis.call('SET', 'culvert:tunnel:' .. ARGV[1], table.concat({'-', left, held[3]}, ' '), 'KEEPTTL')
return 0`,
};

/**
 * Finds those tunnels whose control socket is on another relay with a lease. ARGV: incarnation of the relay that asks,
 * then the tunnels.
 *
 * @returns their ids
 */
export const ONLINE: Script = {
  name: 'culvertOnline',
  lua: `${COMMON}
local found = {}
for i = 2, #ARGV do
  local held = entry(ARGV[i])
  if held and held[1] ~= '-' and held[2] ~= ARGV[1] and alive(held) then found[#found + 1] = ARGV[i] end
end
return found`,
};

/**
 * Takes a token from a bucket (protocol.md section 3.2). ARGV: account, burst, ms until a token is replenished.
 *
 * @returns the ms until there is one; 0 if one was taken
 */
export const TAKE: Script = {
  name: 'culvertTake',
  lua: `${COMMON}
local key = 'culvert:bucket:' .. ARGV[1]
local burst, interval, now = tonumber(ARGV[2]), tonumber(ARGV[3]), micros() / 1000
local bucket = redis.call('HMGET', key, 'tokens', 'at')
local tokens = burst
if bucket[1] then
  tokens = math.min(burst, tonumber(bucket[1]) + math.max(0, now - tonumber(bucket[2])) / interval)
end
if tokens < 1 then return math.ceil((1 - tokens) * interval) end
redis.call('HSET', key, 'tokens', string.format('%.6f', tokens - 1), 'at', string.format('%.3f', now))
redis.call('PEXPIRE', key, math.ceil(burst * interval))
return 0`,
};

/** Whether a bucket has no token. ARGV as for {@link TAKE}. @returns 1 if it has none, otherwise 0 */
export const IS_OUT: Script = {
  name: 'culvertIsOut',
  lua: `${COMMON}
local burst, interval = tonumber(ARGV[2]), tonumber(ARGV[3])
local bucket = redis.call('HMGET', 'culvert:bucket:' .. ARGV[1], 'tokens', 'at')
if not bucket[1] then return 0 end
local since = math.max(0, micros() / 1000 - tonumber(bucket[2]))
return math.min(burst, tonumber(bucket[1]) + since / interval) < 1 and 1 or 0`,
};

/** Returns a token; a bucket that is full again is removed. ARGV: account, burst. */
export const GIVE_BACK: Script = {
  name: 'culvertGiveBack',
  lua: `
local key = 'culvert:bucket:' .. ARGV[1]
local tokens = redis.call('HGET', key, 'tokens')
if tokens then
  redis.call('HSET', key, 'tokens', string.format('%.6f', math.min(tonumber(ARGV[2]), tonumber(tokens) + 1)))
end`,
};

/**
 * Lists a client that has registered; if there are too many, the oldest that nobody has approved is forgotten. ARGV:
 * serial number, how many there may be, seconds until they are forgotten.
 *
 * @returns since when there is a list: all of an earlier one is lost
 */
export const REGISTER: Script = {
  name: 'culvertRegister',
  lua: `${COMMON}
local now = micros()
local count = 0
for _, key in ipairs({'culvert:registered', 'culvert:approved'}) do
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now - tonumber(ARGV[3]) * 1000000))
  count = count + redis.call('ZCARD', key)
end
if count >= tonumber(ARGV[2]) and not redis.call('ZPOPMIN', 'culvert:registered')[1] then
  redis.call('ZPOPMIN', 'culvert:approved')
end
redis.call('ZADD', 'culvert:registered', string.format('%.0f', now), ARGV[1])
return since()`,
};

/** Somebody has approved a client that has registered. ARGV: serial number. */
export const APPROVE: Script = {
  name: 'culvertApprove',
  lua: `
local at = redis.call('ZSCORE', 'culvert:registered', ARGV[1])
if at then
  redis.call('ZREM', 'culvert:registered', ARGV[1])
  redis.call('ZADD', 'culvert:approved', at, ARGV[1])
end`,
};

/** Whether a client was not forgotten. ARGV: the list that it is in, serial number. @returns 1 if so, otherwise 0 */
export const IS_REGISTERED: Script = {
  name: 'culvertIsRegistered',
  lua: `${COMMON}
if ARGV[1] ~= since() then return 1 end
for _, key in ipairs({'culvert:registered', 'culvert:approved'}) do
  if redis.call('ZSCORE', key, ARGV[2]) then return 1 end
end
return 0`,
};

export const SCRIPTS: readonly Script[] = [
  LEASE,
  LEAVE,
  RELAYS,
  CLAIM,
  ASSERT,
  RELEASE,
  FIND,
  ONLINE,
  TAKE,
  IS_OUT,
  GIVE_BACK,
  REGISTER,
  APPROVE,
  IS_REGISTERED,
];
