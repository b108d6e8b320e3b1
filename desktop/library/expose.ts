/** Opens tunnels for programs. */
import { homedir } from 'node:os';
import { OPEN } from '../../shared/access.ts';
import type { Tunnel as TunnelRecord } from '../../shared/tunnel.ts';
import { PORT_RULE } from '../../shared/value-rules.ts';
import { claimNames, ServedElsewhere } from '../cli/serving/claim-names.ts';
import { describeFailure } from '../cli/failure.ts';
import { readRelayAccess, type RelayAccess } from '../cli/relay-access.ts';
import { configFolder } from '../config/folders.ts';
import { StoredLogin } from '../config/stored-login.ts';
import { ApiClient, createRequest } from '../engine/relay/api-client.ts';
import type { expose as Expose, ExposeOptions, Tunnel, TunnelOptions } from './types/index.d.ts';
import { OpenTunnel } from './open-tunnel.ts';
import { isExposable, listening, type Exposable, type Listening } from './served.ts';

/** See types/index.d.ts. */
export const expose: typeof Expose = async (
  what: ExposeOptions | Exposable,
  given: TunnelOptions = {},
): Promise<Tunnel> => {
  if ((typeof what !== 'object' && typeof what !== 'function') || what === null)
    throw new TypeError('expose takes { port: 3000 }, or a server or an app');
  if (isExposable(what)) return await open(await listening(what), given);
  const { port, host = 'localhost', https = false } = what;
  if (!PORT_RULE.accepts(port)) throw new TypeError(`port takes ${PORT_RULE.accepted}`);
  return await open({ port, host, https, close: () => Promise.resolve() }, what);
};

async function open(target: Listening, options: TunnelOptions): Promise<Tunnel> {
  const { signal } = options;
  try {
    signal?.throwIfAborted();
    const access = accessTo(options);
    const api = new ApiClient(access.relay, access.key, access.network);
    const record = await create(api, target, options);
    const tunnel = new OpenTunnel({ access, api, record, target, hostHeader: options.hostHeader ?? 'keep' });
    const abort = (): void => void tunnel.close();
    signal?.addEventListener('abort', abort, { once: true });
    tunnel.once('offline', () => signal?.removeEventListener('abort', abort));
    // It may have come while the tunnel was being created.
    if (signal?.aborted === true) abort();
    await connect(tunnel);
    return tunnel;
  } catch (error) {
    await target.close();
    signal?.throwIfAborted();
    throw error;
  }
}

/** A tunnel that does not get online is not left at the relay. */
async function connect(tunnel: OpenTunnel): Promise<void> {
  try {
    await tunnel.online();
  } catch (error) {
    await tunnel.close();
    throw error;
  }
}

function accessTo({ relay, key, insecure }: TunnelOptions): RelayAccess {
  const { platform, env } = process;
  const stored = new StoredLogin(configFolder({ platform, env, home: homedir() }), (text) =>
    process.emitWarning(text),
  );
  return readRelayAccess({ options: { relay, key, insecure }, env, readLogin: () => stored.read() });
}

async function create(api: ApiClient, { port }: Listening, options: TunnelOptions): Promise<TunnelRecord> {
  const { name, ttl, idle = false, access = {} } = options;
  const claim = name === undefined ? undefined : (await claimNames(api, [name], undefined)).get(name);
  if (claim === 'leave') throw new ServedElsewhere(name ?? '');
  const { allow = [], basic = [], password, links = false, knock = false } = access;
  const wanted = { ...OPEN, allow, basic, password, links, knock };
  const request = createRequest({ port, name, ttl, idle, access: wanted });
  try {
    return await api.createTunnel(claim === 'take-over' ? { ...request, take_over: true } : request);
  } catch (error) {
    throw new Error(describeFailure(error), { cause: error });
  }
}
