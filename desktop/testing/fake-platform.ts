/** A fake system around the app's core, which records every call. */
import type { Access } from '../../shared/access.ts';
import type { Agent } from '../../shared/agents.ts';
import type { KnockClient } from '../../shared/control.ts';
import type { CheckedDomain, Domain } from '../../shared/domains.ts';
import { API_ERRORS, type ApiErrorEntry, withValues } from '../../shared/errors.ts';
import type { Knock } from '../../shared/knocks.ts';
import type { Link, NewLink } from '../../shared/links.ts';
import type { KeptName } from '../../shared/names.ts';
import type { OpenInvite, TakenInvite, NewTeamInvites, Team, TeamAudit } from '../../shared/team.ts';
import type { Account, Tunnel } from '../../shared/tunnel.ts';
import type { Problem } from '../app/ipc/snapshot.ts';
import type { Connection, RelayApi } from '../app/main/connection.ts';
import { projectLinks } from '../app/main/deep-link.ts';
import { GlobalShortcutKey } from '../app/main/global-shortcut.ts';
import type { Notice } from '../app/main/notices.ts';
import type { Platform } from '../app/main/platform.ts';
import { readToImport } from '../app/main/requests.ts';
import { shownAccess } from '../app/main/tunnels/access.ts';
import { DurableFile } from '../client/config/durable-file.ts';
import type { ConnectTunnel } from '../client/host/served-tunnel.ts';
import type { HopResult, LocalService } from '../client/diagnostics/hop.ts';
import type { LinkRequest } from '../client/relay/api-responses.ts';
import { RelayRefusal } from '../client/relay/errors.ts';
import type { InvitationAddress } from '../client/relay/invitation.ts';
import { FakeClock } from './fake-clock.ts';
import { temporaryDirectory } from '../../shared/testing/temporary-directory.ts';

/** A tunnel of an account with an account subdomain. */
export const TUNNEL: Tunnel = {
  id: '0b2f4f0e-6a6e-4d53-9d0c-0a1b2c3d4e5f',
  slug: 'my-app',
  client_id: '7b2f4f0e-6a6e-4d53-9d0c-0a1b2c3d4e5f',
  local_port: 3000,
  name: 'my-app',
  ttl: '1h0m0s',
  protocol: 'http',
  mode: 'relay',
  created_at: '2026-07-10T12:00:00.000Z',
  expires_at: '2026-07-10T13:00:00.000Z',
  idle_ttl: false,
  bytes_in: 0,
  bytes_out: 0,
  requests: 0,
  created_by: null,
  online: false,
  access: {},
  wildcard: false,
  public_url: 'http://my-app.demo.localhost:8080',
  urls: {
    subdomain: 'http://my-app.localhost:8080',
    path: 'http://localhost:8080/t/my-app',
    account: 'http://my-app.demo.localhost:8080',
  },
};

/** The account of {@link TUNNEL}. */
export const ACCOUNT: Account = {
  client_id: TUNNEL.client_id,
  name: 'default',
  plan: 'dev',
  subdomain: 'demo',
  limits: {
    default_ttl: '1h0m0s',
    max_ttl: '168h0m0s',
    creates_per_minute: 10,
    create_burst: 5,
    max_tunnels: 1000,
    max_connections: null,
    max_domains: 5,
    max_tcp_tunnels: 2,
    name_hold: '24h0m0s',
  },
  agent_key: null,
};

/** A domain that is not verified. */
export const DOMAIN: Domain = {
  id: '0b2f4f0e-6a6e-4d53-9d0c-00000000000d',
  domain: 'app.example.com',
  status: 'pending',
  records: [{ type: 'TXT', name: '_culvert.app.example.com', value: 'culvert-verify=0123' }],
  created_at: TUNNEL.created_at,
  verified_at: null,
  failing_since: null,
  ends_at: TUNNEL.expires_at,
};

/** A relay's REST interface in memory. */
export class FakeApi implements RelayApi {
  tunnels: Tunnel[] = [];
  names: KeptName[] = [];
  links: Link[] = [];
  knocks: Knock[] = [];
  agents: readonly Agent[] = [];
  domains: Domain[] = [];
  /** `undefined` if the key is not an owner's */
  team: Team | undefined;
  acts: TeamAudit['acts'] = [];
  /** ids of tunnels that the command serves on this machine */
  servedHere: string[] = [];
  readonly calls: string[] = [];
  /** the access policy of each tunnel that was created or changed */
  readonly asked: Access[] = [];
  /** thrown by all calls while it is set */
  failure: Error | undefined;
  /** the relay's clock, ms since the epoch */
  time = Date.parse(TUNNEL.created_at);
  #count = 0;

  now(): number {
    return this.time;
  }

  getAccount(): Promise<typeof ACCOUNT> {
    return this.#answer('account', () => ACCOUNT);
  }

  createTunnel(request: { local_port: number; name?: string; access?: Access }): Promise<Tunnel> {
    return this.#answer(`create ${request.local_port}`, () => {
      if (request.access !== undefined) this.asked.push(request.access);
      this.#count += 1;
      const id = `0b2f4f0e-6a6e-4d53-9d0c-${String(this.#count).padStart(12, '0')}`;
      const slug = request.name ?? `slug-${this.#count}`;
      const tunnel: Tunnel = {
        ...TUNNEL,
        id,
        slug,
        name: request.name ?? '',
        local_port: request.local_port,
        access: request.access === undefined ? {} : shownAccess(request.access),
        public_url: `http://${slug}.tunnels.test:8080`,
      };
      this.tunnels = [tunnel, ...this.tunnels];
      return this.#withMadeTokens(tunnel, request.access, undefined);
    });
  }

  listNames(): Promise<KeptName[]> {
    // Asked now and then in the background.
    return this.failure === undefined ? Promise.resolve(this.names) : Promise.reject(this.failure);
  }

  releaseName(name: string): Promise<void> {
    return this.#answer(`release ${name}`, () => {
      this.names = this.names.filter((kept) => kept.name !== name);
    });
  }

  keepName(name: string): Promise<KeptName> {
    return this.#answer(`keep ${name}`, () => {
      const known = this.names.find((kept) => kept.name === name);
      if (known !== undefined) return known;
      const kept = { name, created_at: TUNNEL.created_at, away: null, until: null, tunnel_id: null };
      this.names = [...this.names, kept];
      return kept;
    });
  }

  changeName(name: string, changes: Partial<Pick<KeptName, 'away' | 'until'>>): Promise<KeptName> {
    return this.#answer(`change ${name}`, () => {
      this.names = this.names.map((kept) => (kept.name === name ? { ...kept, ...changes } : kept));
      const changed = this.names.find((kept) => kept.name === name);
      if (changed === undefined) throw new Error('no such name');
      return changed;
    });
  }

  listTunnels(): Promise<Tunnel[]> {
    return this.#answer('list', () => this.tunnels);
  }

  getTunnel(id: string): Promise<Tunnel> {
    return this.#answer(`get ${id.slice(-1)}`, () => {
      const tunnel = this.tunnels.find((other) => other.id === id);
      if (tunnel === undefined) throw new Error('no such tunnel');
      return tunnel;
    });
  }

  closeTunnel(id: string): Promise<void> {
    return this.#answer(`close ${id.slice(-1)}`, () => {
      this.tunnels = this.tunnels.filter((tunnel) => tunnel.id !== id);
    });
  }

  extendTunnel(id: string, ttl?: string): Promise<Tunnel> {
    return this.#answer(`extend ${id.slice(-1)} ${ttl ?? ''}`, () => {
      const tunnel = this.tunnels.find((other) => other.id === id);
      if (tunnel === undefined) throw new Error('no such tunnel');
      return { ...tunnel, expires_at: '2026-07-10T14:00:00.000Z' };
    });
  }

  setAccess(id: string, access: Access): Promise<Tunnel> {
    const asked = shownAccess(access);
    return this.#answer(`access ${id.slice(-1)}`, () => {
      this.asked.push(access);
      const before = this.tunnels.find((other) => other.id === id);
      if (before === undefined) throw new Error('no such tunnel');
      const tunnel = { ...before, access: asked };
      this.tunnels = this.tunnels.map((other) => (other.id === id ? tunnel : other));
      return this.#withMadeTokens(tunnel, access, before);
    });
  }

  /** As the relay shows it once: with the tokens that it has made. */
  #withMadeTokens(tunnel: Tunnel, asked: Access | undefined, before: Tunnel | undefined): Tunnel {
    const tokens = asked?.tokens.map(({ name, token }) => {
      const isKept = before?.access.tokens?.some((kept) => kept.name === name) === true;
      this.#count += token === undefined && !isKept ? 1 : 0;
      return { name, ...(token === undefined && !isKept && { token: `cvp_${name}_${this.#count}` }) };
    });
    return tokens === undefined || tokens.length === 0
      ? tunnel
      : { ...tunnel, access: { ...tunnel.access, tokens } };
  }

  createLink(id: string, { note = '', ttl = '', once = false }: LinkRequest): Promise<NewLink> {
    return this.#answer(`link ${id.slice(-1)} ${note} ${ttl}`, () => {
      const link = {
        id: `link-${this.links.length + 1}`,
        note,
        ...(once && { once }),
        created_at: '2026-07-10T12:00:00.000Z',
        expires_at: '2026-07-10T13:00:00.000Z',
      };
      this.links = [link, ...this.links];
      return { ...link, url: this.linkUrl(link.id) };
    });
  }

  lookAtInvitation({ token }: InvitationAddress): Promise<OpenInvite> {
    return this.#answer(`look at ${token.slice(0, 1)}`, () => ({
      account: 'default',
      expires_at: '2026-07-11T12:00:00.000Z',
    }));
  }

  takeInvitation({ token, relay }: InvitationAddress): Promise<TakenInvite> {
    return this.#answer(`take ${token.slice(0, 1)}`, () => ({
      id: 'key-1',
      account: 'default',
      key: `cvt_${'i'.repeat(32)}`,
      relay: relay.origin,
    }));
  }

  linkUrl(id: string): string {
    return `http://my-app.tunnels.test:8080/?culvert_pass=${id}`;
  }

  listLinks(id: string): Promise<Link[]> {
    return this.#answer(`links ${id.slice(-1)}`, () => this.links);
  }

  deleteLink(id: string, linkId: string): Promise<void> {
    return this.#answer(`revoke ${id.slice(-1)} ${linkId}`, () => {
      this.links = this.links.filter((link) => link.id !== linkId);
    });
  }

  listDomains(): Promise<Domain[]> {
    return this.#answer('domains', () => this.domains);
  }

  addDomain(domain: string): Promise<Domain> {
    return this.#answer(`add ${domain}`, () => ({ ...DOMAIN, domain }));
  }

  removeDomain(id: string): Promise<void> {
    return this.#answer(`remove ${id.slice(-1)}`, () => {
      this.domains = this.domains.filter((domain) => domain.id !== id);
    });
  }

  verifyDomain(id: string): Promise<CheckedDomain> {
    return this.#answer(`verify ${id.slice(-1)}`, () => {
      const problem = { what: 'proof' as const, ok: false, found: ['x'], problem: 'It says something else.' };
      const address = { what: 'address' as const, ok: true, found: [], problem: '' };
      return { ...DOMAIN, checks: [address, problem] };
    });
  }

  listAgents(id: string): Promise<readonly Agent[]> {
    return this.#answer(`agents ${id.slice(-1)}`, () => this.agents);
  }

  revokeAgent(id: string, agentId: string): Promise<void> {
    return this.#answer(`revoke agent ${id.slice(-1)} ${agentId}`, () => {
      this.agents = this.agents.filter((agent) => agent.id !== agentId);
    });
  }

  listKnocks(id: string): Promise<Knock[]> {
    return this.#answer(`knocks ${id.slice(-1)}`, () => this.knocks);
  }

  answerKnock(id: string, knockId: string, admit: boolean, duration?: string): Promise<void> {
    const answer = admit ? `admit ${duration ?? ''}` : 'refuse';
    return this.#answer(`${answer} ${id.slice(-1)} ${knockId}`, () => {});
  }

  listTeam(): Promise<Team> {
    return this.#answer('team', () => this.#ownTeam);
  }

  inviteToTeam(labels: readonly string[], ttl?: string): Promise<NewTeamInvites> {
    return this.#answer(`invite ${labels.join()} ${ttl ?? ''}`, () => {
      const team = this.#ownTeam;
      const invites = labels.map((label) => ({ id: `i-${label}`, label, expires_at: TUNNEL.expires_at }));
      this.team = { ...team, invites: [...team.invites, ...invites] };
      return {
        invites: invites.map((one) => ({ ...one, url: `https://relay.example/invite/${one.label}` })),
      };
    });
  }

  revokeFromTeam(id: string): Promise<void> {
    return this.#answer(`revoke ${id}`, () => {
      const { keys, invites } = this.#ownTeam;
      const isKnown = [...keys, ...invites].some((one) => one.id === id);
      if (!isKnown) throw refusalOf(withValues(API_ERRORS.noSuch, { kind: 'key', name: id }));
      this.team = {
        keys: keys.filter((key) => key.id !== id),
        invites: invites.filter((invite) => invite.id !== id),
      };
    });
  }

  teamAudit(): Promise<TeamAudit> {
    return this.#answer('audit', () => ({ acts: this.acts }));
  }

  get #ownTeam(): Team {
    if (this.team === undefined)
      throw refusalOf(withValues(API_ERRORS.keyOutOfScope, { scope: "an owner's work" }));
    return this.team;
  }

  #answer<T>(call: string, make: () => T): Promise<T> {
    this.calls.push(call);
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return new Promise((resolve) => resolve(make()));
  }
}

function refusalOf({ status, code, text }: ApiErrorEntry): RelayRefusal {
  return new RelayRefusal(status, text, { code });
}

/** A tunnel that is being served; the test takes the part of the client. */
type FakeServed = Parameters<ConnectTunnel>[0] & {
  isStopped: boolean;
  /** `suspend` and `wake`, in order */
  readonly sleep: ('suspend' | 'wake')[];
};

export class FakeServe {
  readonly all: FakeServed[] = [];

  readonly connect: ConnectTunnel = (options) => {
    const served: FakeServed = { ...options, isStopped: false, sleep: [] };
    this.all.push(served);
    return {
      start: () => {},
      stop: () => void (served.isStopped = true),
      suspend: () => void served.sleep.push('suspend'),
      wake: () => void served.sleep.push('wake'),
    };
  };

  /** The last one that was started. */
  get last(): FakeServed {
    const served = this.all.at(-1);
    if (served === undefined) throw new Error('nothing is served');
    return served;
  }

  /** A visitor of the last one asks for approval. */
  knock(id: string, address = '192.0.2.7', client?: KnockClient): void {
    const at = TUNNEL.created_at;
    this.last.onKnock?.({ type: 'knock', id, address, agent: 'curl/8.18.0', at, client });
  }
}

/** Encryption whose result is readable. */
export function fakeEncryption(isReal: boolean): Platform['encryption'] {
  return {
    isReal: () => Promise.resolve(isReal),
    encrypt: (text) => Promise.resolve(Buffer.from(`sealed ${text}`)),
    decrypt: (bytes) => Promise.resolve(bytes.toString().replace(/^sealed /, '')),
  };
}

/** Everything the core did to the system. */
export interface Seen {
  readonly copied: string[];
  readonly opened: string[];
  /** names that were offered for files */
  readonly filesOffered: string[];
  readonly notices: Notice[];
  readonly problems: Problem[];
  readonly reports: string[];
  readonly themes: string[];
  readonly autostart: boolean[];
  quits: number;
}

/** Running diagnostics; the test provides the results. */
export interface FakeExamination {
  readonly connection: Connection;
  readonly local: LocalService | undefined;
  readonly interrupted: AbortSignal;
  readonly tell: (result: HopResult) => void;
  readonly end: (isGood: boolean) => void;
  readonly fail: (error: Error) => void;
}

export interface FakeSystem {
  /** the user's next answers */
  readonly answers: {
    fileToWrite: string | undefined;
    harToRead: string | undefined;
    folder: string | undefined;
  };
  readonly examined: readonly FakeExamination[];
  readonly platform: Platform & { readonly dataDirectory: string };
  readonly clock: FakeClock;
  readonly api: FakeApi;
  readonly serve: FakeServe;
  readonly seen: Seen;
}

/** @param dataDirectory of an app that ran before; without it, a new one */
export function fakeSystem(
  dataDirectory: string = temporaryDirectory(),
  api: FakeApi = new FakeApi(),
): FakeSystem {
  const clock = new FakeClock();
  const serve = new FakeServe();
  const examined: FakeExamination[] = [];
  const seen: Seen = {
    copied: [],
    opened: [],
    filesOffered: [],
    notices: [],
    problems: [],
    reports: [],
    themes: [],
    autostart: [],
    quits: 0,
  };
  const answers: FakeSystem['answers'] = {
    fileToWrite: undefined,
    harToRead: undefined,
    folder: undefined,
  };
  const platform: FakeSystem['platform'] = {
    clock,
    dataDirectory,
    encryption: fakeEncryption(true),
    autostart: {
      isOn: () => Promise.resolve(seen.autostart.at(-1) ?? false),
      set: (isOn) => Promise.resolve(void seen.autostart.push(isOn)),
    },
    about: { version: '0.0.0', versions: [], licences: [] },
    links: projectLinks('https://home.test', '0.0.0'),
    connect: () => api,
    lookAtInvitation: (invitation) => api.lookAtInvitation(invitation),
    takeInvitation: (invitation) => api.takeInvitation(invitation),
    examine(connection, local, interrupted, tell) {
      const { promise, resolve, reject } = Promise.withResolvers<boolean>();
      examined.push({ connection, local, interrupted, tell, end: resolve, fail: reject });
      return promise;
    },
    connectTunnel: serve.connect,
    startInspector: () => Promise.resolve(undefined),
    servedHere: () =>
      Promise.resolve(
        api.servedHere.map((id) => ({ id, slug: id, publicUrl: TUNNEL.public_url, path: '/gone' })),
      ),
    scanPorts: () => Promise.resolve(undefined),
    hasNetwork: () => true,
    preferredLanguages: () => ['en'],
    inventPassword: () => 'mild-oak-fern',
    copy: (text) => Promise.resolve(void seen.copied.push(text)),
    chooseFileToWrite(name) {
      seen.filesOffered.push(name);
      const path = answers.fileToWrite;
      return Promise.resolve(
        path === undefined ? undefined : { path, write: (text) => new DurableFile(path).write(text) },
      );
    },
    chooseFolder: () => Promise.resolve(answers.folder),
    chooseHarToRead: async () =>
      answers.harToRead === undefined ? undefined : readToImport(answers.harToRead),
    open: (url) => Promise.resolve(void seen.opened.push(url)),
    tell: (problem) => void seen.problems.push(problem),
    showsTrayIcons: undefined,
    summonKey: new GlobalShortcutKey({ register: () => true, unregister: () => undefined }),
    setTheme: (theme) => void seen.themes.push(theme),
    report: (what, error) => void seen.reports.push(`${what}: ${String(error)}`),
  };
  return { platform, clock, api, serve, seen, examined, answers };
}
