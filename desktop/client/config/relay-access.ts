/** Which relay a command uses, with which key: from options, then the environment, then the stored login. */
import { API_KEY_PATTERN, API_KEY_PREFIX } from '../../../shared/value-rules.ts';
import { ExitCode, UsageError } from '../failures.ts';
import { Network } from '../network/network.ts';
import {
  NetworkSettingError,
  type NetworkSettings,
  readNetworkSettings,
  readVariable,
} from '../network/proxy-dial.ts';
import {
  isProtected,
  parseRelayAddress,
  type RelayAddress,
  RelayAddressError,
} from '../relay/relay-address.ts';
import { checkRelay, type ProjectRelay } from './project-trust.ts';
import type { Login } from './stored-login.ts';

const DEFAULT_RELAY = 'http://localhost:8080';
/** The source of the address if no relay was chosen. */
export const DEFAULT_RELAY_FROM = 'the default';

/** Without a relay and a key, this is the user's first command. */
const FIRST_USE = `No relay is set up yet. A tunnel needs a relay, and there are two ways to get one:
  - Someone who runs a relay has sent you an invitation or a key:
      culvert login https://relay.example.com/invite/…      the invitation gives you a key
      culvert login --relay https://relay.example.com       asks for the key
  - You run your own in another terminal. It shows its first key once; enter that key when "culvert login" asks for it:
      culvert-relay
      culvert login --relay ${DEFAULT_RELAY}`;

export type Environment = Readonly<Record<string, string | undefined>>;

/** The relay to use, and how to print. */
export interface RelayAccess {
  readonly relay: RelayAddress;
  readonly key: string;
  /** how the relay is reached */
  readonly network: Network;
  readonly json: boolean;
}

/** The relay that was found, before it is checked for completeness. */
export interface FoundRelay {
  readonly relay: RelayAddress;
  /** source of the relay's address, for people */
  readonly relayFrom: string;
  readonly key: string | undefined;
  readonly keyFrom: string;
  /** certificates (PEM) that login stored for this relay */
  readonly ca: string | undefined;
}

interface RelayOptions {
  readonly relay?: string | undefined;
  readonly key?: string | undefined;
  readonly ca?: string | undefined;
  readonly insecure?: boolean | undefined;
  readonly json?: boolean | undefined;
}

export interface RelaySources {
  readonly options: RelayOptions;
  readonly env: Environment;
  /** a `culvert.yml` that names a relay */
  readonly project?: ProjectRelay | undefined;
  /** Called only if options and environment are incomplete. */
  readonly readLogin: () => Login | undefined;
}

/**
 * Sends a stored key only to the relay it was checked with, even if an option or a `culvert.yml` names another. A key
 * from an option or the environment is sent to the relay of a `culvert.yml` only under the conditions of
 * {@link checkRelay}.
 *
 * @throws UsageError for an invalid relay address, ProjectFileError
 */
export function findRelay({ options, env, project, readLogin }: RelaySources): FoundRelay {
  const givenRelay = options.relay ?? readVariable(env, 'CULVERT_RELAY');
  const givenKey = options.key ?? readVariable(env, 'CULVERT_API_KEY');
  const relayFrom = options.relay !== undefined ? '--relay' : 'CULVERT_RELAY';
  const keyFrom = options.key !== undefined ? '--key' : 'CULVERT_API_KEY';
  const login = givenKey === undefined || givenRelay === undefined ? readLogin() : undefined;
  const own =
    givenRelay !== undefined
      ? { relay: readRelay(givenRelay), relayFrom }
      : login !== undefined
        ? { relay: login.relay, relayFrom: 'culvert login' }
        : { relay: parseRelayAddress(DEFAULT_RELAY), relayFrom: DEFAULT_RELAY_FROM };
  const isProjects = project !== undefined && givenRelay === undefined;
  const relay = isProjects ? { relay: project.relay, relayFrom: 'culvert.yml' } : own;
  if (givenKey !== undefined) {
    if (isProjects) checkRelay(project, own.relay, keyFrom);
    return { ...relay, key: givenKey, keyFrom, ca: loginFor(relay.relay, login)?.ca };
  }
  const { key, ca } = loginFor(relay.relay, login) ?? {};
  return { ...relay, key, keyFrom: 'culvert login', ca };
}

function loginFor({ origin }: RelayAddress, login: Login | undefined): Login | undefined {
  return login?.relay.origin === origin ? login : undefined;
}

/** @throws UsageError for a missing key, or one that the relay would refuse */
export function readRelayAccess(sources: RelaySources): RelayAccess {
  const { relay, relayFrom, key, ca } = findRelay(sources);
  if (key === undefined) {
    if (relayFrom === DEFAULT_RELAY_FROM) throw new UsageError(FIRST_USE);
    throw new UsageError(
      `There is no API key for ${relay.origin}. Run "culvert login", use --key KEY or set CULVERT_API_KEY.`,
    );
  }
  checkProtected(relay, relayFrom, sources.options.insecure);
  return {
    relay,
    key: checkKey(key),
    network: readNetwork(sources, relay, ca),
    json: sources.options.json ?? false,
  };
}

/**
 * Reads proxies from the environment, and authorities from `--ca` or `CULVERT_CA` in addition to the usual ones.
 *
 * @param storedCa used if neither `--ca` nor `CULVERT_CA` is given; PEM
 * @throws UsageError
 */
export function readNetwork(
  sources: Pick<RelaySources, 'options' | 'env'>,
  relay: RelayAddress,
  storedCa?: string,
): Network {
  const settings = readSettings(sources);
  return usable(() => {
    const network = new Network({ ...settings, ca: settings.ca ?? storedCa });
    network.proxyFor(relay);
    return network;
  });
}

/**
 * The settings that {@link readNetwork} uses.
 *
 * @throws UsageError
 */
export function readSettings({ options, env }: Pick<RelaySources, 'options' | 'env'>): NetworkSettings {
  return usable(() => readNetworkSettings(env, options.ca));
}

/** @throws UsageError for a setting that cannot be used */
function usable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof NetworkSettingError)) throw error;
    throw new UsageError(`${error.message}.`);
  }
}

/**
 * `--insecure` has no environment variable: unrelated commands would inherit it.
 *
 * @param relayFrom source of the address, for people
 * @throws UsageError if others could read the key on its way to the relay
 */
export function checkProtected(relay: RelayAddress, relayFrom: string, isAccepted = false): void {
  if (isAccepted || isProtected(relay)) return;
  throw new UsageError(
    `${relayFrom}: the connection to ${relay.origin} is not encrypted, so others could read the API key. ` +
      'Use an https:// address, or --insecure to accept that.',
  );
}

/** @throws UsageError, with the exit code of a refused key, for a key that the relay would refuse */
export function checkKey(key: string): string {
  if (API_KEY_PATTERN.test(key)) return key;
  throw new UsageError(
    `The API key is incomplete or damaged. A key is ${API_KEY_PREFIX} followed by at least 32 letters and digits.`,
    ExitCode.keyRefused,
  );
}

/** @throws UsageError */
export function readRelay(text: string): RelayAddress {
  try {
    return parseRelayAddress(text);
  } catch (error) {
    if (!(error instanceof RelayAddressError)) throw error;
    throw new UsageError(`--relay or CULVERT_RELAY: ${error.message}.`);
  }
}

/** Asks the user of the command. */
export interface Prompt {
  /** whether a person can answer; otherwise input is only lines */
  readonly isInteractive: boolean;
  /** @returns a line of input; throws at the end of the input */
  ask(question: string): Promise<string>;
  /** Like {@link Prompt.ask}, but does not echo what is typed. */
  askSecret(question: string): Promise<string>;
}
