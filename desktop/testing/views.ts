/** What the window shows, for tests: complete and ordinary, except for what a test changes. */
import { WHOLE_LOG } from '../app/ipc/request-views.ts';
import type { OtherTunnelView, SignInView, Snapshot, TunnelView } from '../app/ipc/snapshot.ts';
import { DEFAULT_LOCALE } from '../app/messages/translate.ts';
import { LOG_START, type RequestDetail, type RequestSummary } from '../client/inspector/records.ts';

export function exampleTunnel(changes: Partial<TunnelView> = {}): TunnelView {
  return {
    key: 'k',
    status: { name: 'online' },
    url: 'https://quiet-heron.tunnels.example.com',
    slug: 'quiet-heron',
    name: '',
    localPort: 3000,
    folder: undefined,
    framework: undefined,
    localProblem: undefined,
    wildcardUrl: undefined,
    hostHeader: 'keep',
    lock: { kind: 'anyone' },
    tokens: [],
    knocks: [],
    isIdle: false,
    isKeptOpen: false,
    ttl: 3600,
    expiresAt: Number.MAX_SAFE_INTEGER,
    requests: 0,
    bytesIn: 0,
    bytesOut: 0,
    recent: [],
    pulse: [],
    log: LOG_START,
    logView: WHOLE_LOG,
    ...changes,
  };
}

export function exampleOther(changes: Partial<OtherTunnelView> = {}): OtherTunnelView {
  return {
    key: 'o',
    slug: 'brisk-otter',
    url: 'https://brisk-otter.tunnels.example.com',
    localPort: 4000,
    createdBy: null,
    isOnline: true,
    log: undefined,
    isStopping: false,
    lock: { kind: 'anyone' },
    isIdle: false,
    ttl: 3600,
    expiresAt: Number.MAX_SAFE_INTEGER,
    requests: 0,
    ...changes,
  };
}

export function exampleSnapshot(changes: Partial<Snapshot> = {}): Snapshot {
  return {
    session: {
      state: 'signed-in',
      relay: 'https://tunnels.example.com',
      account: {
        name: 'acme',
        plan: 'dev',
        nameDomain: 'tunnels.example.com',
        allowsNames: true,
        defaultTtl: 3600,
        maxTtl: 604_800,
      },
      keyKept: 'system',
      problem: undefined,
    },
    signIns: [],
    tunnels: [],
    others: [],
    names: [],
    diagnostics: undefined,
    invitation: undefined,
    drop: undefined,
    project: undefined,
    projects: [],
    ports: [],
    settings: {
      startsAtLogin: false,
      notifies: true,
      theme: 'system',
      language: 'system',
      onQuit: 'ask',
      saysAsleep: 'ask',
      wrapsBodies: true,
      keptBody: 64 * 1024,
      saysTrayMissing: true,
      listWidth: 0,
      logWidth: 0,
      summonShortcut: 'CommandOrControl+Alt+Shift+C',
    },
    isOfCommand: false,
    isShortcutRefused: false,
    isTrayMissing: false,
    undos: [],
    update: undefined,
    hasNetwork: true,
    locale: DEFAULT_LOCALE,
    ...changes,
  };
}

/** The sign-in of {@link exampleSnapshot}. */
export function exampleSignIn(changes: Partial<SignInView> = {}): SignInView {
  return {
    id: 's1',
    relay: 'https://tunnels.example.com',
    account: 'acme',
    isChosen: true,
    isSignedIn: true,
    running: 0,
    isTroubled: false,
    ...changes,
  };
}

export function exampleRequest(changes: Partial<RequestSummary> = {}): RequestSummary {
  return {
    id: 1,
    startedAt: 0,
    method: 'GET',
    target: '/',
    status: 200,
    durationMs: 12,
    bytesIn: 80,
    bytesOut: 1200,
    isBroken: false,
    visitor: undefined,
    replayOf: undefined,
    isImported: false,
    webhook: undefined,
    ...changes,
  };
}

/** A request without fields and bodies, not yet answered. */
export function exampleDetail(changes: Partial<RequestDetail> = {}): RequestDetail {
  return {
    ...exampleRequest(),
    timing: { waitedMs: 0, connectedMs: 0, answeredMs: undefined },
    request: { startLine: 'GET / HTTP/1.1', fields: [], body: new Uint8Array(), isTruncated: false },
    response: undefined,
    ...changes,
  };
}

/** A tunnel in the list: online, named, with an hour to live. */
export function tunnelView(changes: Partial<TunnelView> = {}): TunnelView {
  return exampleTunnel({
    url: 'http://my-app.tunnels.test',
    slug: 'my-app',
    name: 'my-app',
    expiresAt: 3_600_000,
    ...changes,
  });
}
