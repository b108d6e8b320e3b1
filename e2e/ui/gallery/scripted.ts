import type { Page } from 'playwright-core';
import type { About } from '../../../desktop/app/ipc/ipc.ts';
import type { EditView } from '../../../desktop/app/ipc/request-views.ts';
import type { SignInView, Snapshot, TunnelView } from '../../../desktop/app/ipc/snapshot.ts';
import type {
  AgentView,
  ApprovedView,
  DomainView,
  ApprovalRequestView,
  LinkView,
  TunnelAccessView,
} from '../../../desktop/app/ipc/tunnel-views.ts';
import {
  type DetailView,
  type RecordedMessage,
  type RequestSummary,
  triesOf,
} from '../../../desktop/client/inspector/records.ts';
import {
  exampleRequest,
  exampleSignIn,
  exampleSnapshot,
  exampleTunnel,
} from '../../../desktop/testing/views.ts';
import { refuse, type ScriptedHandlers, ScriptedMain } from '../support/scripted-main.ts';

const PORTS = [
  { port: 4321, process: 'node', framework: 'Astro' },
  { port: 3001, process: 'node', framework: 'Next.js' },
  { port: 8000, process: 'python3', framework: undefined },
  { port: 5432, process: 'postgres', framework: undefined },
];

const ABOUT: About = {
  version: '0.1.0',
  versions: [
    { name: 'Electron', version: '45.4.1' },
    { name: 'Chromium', version: '156.0.8078.79' },
    { name: 'Node', version: '24.21.0' },
  ],
  licences: [
    { name: 'Culvert', licence: 'MIT' },
    { name: 'Electron', licence: 'MIT' },
    { name: 'Preact', licence: 'MIT' },
    { name: 'uqr', licence: 'MIT' },
  ],
};

/**
 * A main process with a signed-in user and `changes` to the snapshot, where every call is answered, by `handlers`
 * first.
 */
export function scripted(changes: Partial<Snapshot>, handlers: ScriptedHandlers = {}): () => ScriptedMain {
  return () =>
    new ScriptedMain(exampleSnapshot({ ports: PORTS, ...changes }), {
      'log:changes': logOf([...REQUESTS, ...EARLIER]),
      'log:detail': ({ id }) => detail(id),
      'log:replay': () => 95,
      'log:copy-curl': () => ({ hidesSecrets: true }),
      'bench:open': () => EDITED,
      'log:edit': ({ edit }) => (edit.method === 'POST' ? SENT.id : refuseEdit()),
      'lock:invent': () => ({ password: 'brisk-plum-tide' }),
      'link:list': () => LINKS,
      'domain:list': () => DOMAINS,
      'domain:check': () => ({ ...PENDING_DOMAIN, problems: DOMAIN_PROBLEMS }),
      'knock:admitted': () => ADMITTED,
      'agent:list': () => AGENTS,
      'link:create': ({ note, once }) => ({
        id: 'l4',
        note,
        expiresAt: NOW + 24 * HOUR,
        ...(once && { once: { usedAt: undefined } }),
        url: 'https://shop.tunnels.example.com/?culvert_pass=once.0123456789abcdef.1780000000.QW5u.Zm9yIHRoZSBwaWN0dXJlIG9mIHRoaXMgd2luZG93IQ',
      }),
      'app:about': () => ABOUT,
      ...handlers,
    });
}

/** The same with these tunnels. */
export function live(...tunnels: TunnelView[]): () => ScriptedMain {
  return scripted({ tunnels });
}

/** A scene of {@link scripted}. */
export function scene(
  name: string,
  { handlers, ...changes }: Partial<Snapshot> & { readonly handlers?: ScriptedHandlers },
  go?: Scene['go'],
): Scene {
  return { name, main: scripted(changes, handlers), ...(go && { go }) };
}

/** A relay with a long address. */
export const ELSEWHERE = 'https://relay.somewhere.example.org:8443';

/** The one that is shown, another in trouble, and one that is signed out. */
export const SIGN_INS: readonly SignInView[] = [
  exampleSignIn({ running: 2 }),
  exampleSignIn({
    id: 's2',
    account: 'a-very-long-name-of-a-department',
    relay: ELSEWHERE,
    isChosen: false,
    running: 2,
    isTroubled: true,
  }),
  exampleSignIn({ id: 's3', account: 'home', isChosen: false, isSignedIn: false, isTroubled: true }),
];
/** Opens the request of the checkout that failed. */
export async function openCheckout(page: Page): Promise<void> {
  const rows = page.getByRole('button', { name: /POST \/api\/checkout/ });
  await rows.first().click();
}

/** A fixed time for every screen, so that the pictures are always the same. */
export const NOW = Date.UTC(2026, 10, 21, 10, 30);
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

export interface Scene {
  readonly name: string;
  readonly main: () => ScriptedMain;
  /** navigates from the main list to the screen */
  readonly go?: (page: Page) => Promise<void>;
}

const PENDING_DOMAIN: DomainView = {
  id: 'd2',
  domain: 'shop.example.org',
  status: 'pending',
  records: [
    { type: 'CNAME', name: 'shop.example.org', value: 'tunnels.example.com' },
    {
      type: 'TXT',
      name: '_culvert.shop.example.org',
      value: 'culvert-verify=2f1e0c5b9a7d46e38f20b1c4d5e6f708',
    },
  ],
};
const DOMAINS: readonly DomainView[] = [
  { id: 'd1', domain: 'app.example.org', status: 'verified', records: [] },
  PENDING_DOMAIN,
];
const DOMAIN_PROBLEMS = [
  { text: 'shop.example.org does not point to this relay.', found: ['203.0.113.7'] },
  { text: 'There is no TXT record _culvert.shop.example.org.', found: [] },
];

const MAC = {
  address: '203.0.113.7',
  agent: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 Chrome/156.0 Safari/537.36',
};
const IPHONE = {
  address: '2001:db8:85a3:8d3:1319:8a2e:370:7348',
  agent: 'Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) Version/26.0 Mobile/15E148 Safari/604.1',
};

export const REQUESTS = [
  exampleRequest({ id: 95, startedAt: NOW - 3000, from: MAC }),
  exampleRequest({
    id: 94,
    startedAt: NOW - 5000,
    target: '/src/main.ts',
    status: 304,
    durationMs: 3,
    from: MAC,
  }),
  exampleRequest({
    id: 93,
    startedAt: NOW - 9000,
    method: 'POST',
    target: '/api/checkout',
    status: 500,
    durationMs: 48,
    from: IPHONE,
  }),
  exampleRequest({
    id: 92,
    startedAt: NOW - 12_000,
    target: '/events',
    status: undefined,
    durationMs: undefined,
    from: IPHONE,
  }),
  exampleRequest({
    id: 91,
    startedAt: NOW - 20_000,
    target: '/video.mp4',
    durationMs: 2140,
    isBroken: true,
    from: IPHONE,
  }),
];
/** Older requests of the log. */
export const EARLIER = [
  exampleRequest({ id: 90, startedAt: NOW - 44_000, target: '/live', durationMs: undefined }),
  exampleRequest({
    id: 89,
    startedAt: NOW - 3 * MINUTE,
    method: 'POST',
    target: '/api/checkout',
    status: 201,
    durationMs: 31,
    replayOf: 88,
  }),
  exampleRequest({
    id: 88,
    startedAt: NOW - 4 * MINUTE,
    method: 'POST',
    target: '/api/checkout',
    status: 500,
    durationMs: 48,
  }),
  exampleRequest({ id: 87, startedAt: NOW - 2 * HOUR, target: '/caf%C3%A9/men%C3%BC', durationMs: 9 }),
];

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

const ASKED: RecordedMessage = {
  startLine: 'POST /api/checkout HTTP/1.1',
  fields: [
    ['Host', 'shop-demo.tunnels.example.com'],
    ['Content-Type', 'application/json'],
    ['Authorization', 'Bearer [redacted]'],
    ['X-Forwarded-For', '203.0.113.7'],
  ],
  body: bytes('{"cart":[{"sku":"heron-mug","count":2}],"currency":"EUR"}'),
  isTruncated: false,
};
const ANSWERED: RecordedMessage = {
  startLine: 'HTTP/1.1 500 Internal Server Error',
  fields: [
    ['Content-Type', 'application/json'],
    ['Date', 'Sat, 21 Nov 2026 10:29:51 GMT'],
  ],
  body: bytes('{"error":"no price for heron-mug in EUR"}'),
  isTruncated: false,
};

export const EDITED: EditView = {
  method: 'POST',
  target: '/api/checkout?token=[redacted]',
  fields: ASKED.fields.filter(([name]) => name !== 'Host'),
  body: new TextDecoder().decode(ASKED.body),
  bodySize: ASKED.body.length,
  isCut: false,
  isLarge: false,
  signer: undefined,
};
/** The result of sending the edited request. */
const SENT = { id: 96, status: 201 };
const EDIT_PROBLEMS = [
  { part: 'method', text: 'The method must be 1 to 32 letters, digits and hyphens, such as POST.' },
  { part: 'target', text: 'The path cannot contain a line break.' },
  { part: 'fields.1.name', text: 'Culvert sets the header Host itself, based on the rest of the request.' },
  { part: 'fields.2.value', text: 'The value of X-Forwarded-For cannot contain control characters.' },
  { part: 'body', text: 'The body can be at most 256 KiB. This one is 280 KiB.' },
];
const refuseEdit = refuse({ code: 'edit-refused', text: 'It was not sent.', problems: EDIT_PROBLEMS });
const ANSWERED_NOW: RecordedMessage = {
  startLine: 'HTTP/1.1 201 Created',
  fields: [
    ['Content-Type', 'application/json'],
    ['Location', '/orders/1044'],
  ],
  body: bytes('{"order":1044,"total":"27.80 EUR","shipped":false}'),
  isTruncated: false,
};

export function detail(id: number): DetailView {
  const sent = id === SENT.id ? { status: SENT.status } : {};
  const all = [...REQUESTS, ...EARLIER];
  const summary = all.find((request) => request.id === id) ?? exampleRequest({ id, ...sent });
  const tries = triesOf(all.toReversed()).get(id) ?? [];
  return {
    ...summary,
    ...(tries.length > 1 && { tries }),
    timing: {
      waitedMs: 4,
      connectedMs: 0.4,
      answeredMs: id === 92 ? undefined : Math.min(45, summary.durationMs ?? 45),
    },
    bytesIn: 512,
    bytesOut: 289,
    request: ASKED,
    response: id === 92 ? undefined : summary.status === SENT.status ? ANSWERED_NOW : ANSWERED,
  };
}

/** A log that does not change. */
export function logOf(requests: readonly RequestSummary[]): NonNullable<ScriptedHandlers['log:changes']> {
  return ({ since }) => ({
    at: { epoch: 0, revision: 1 },
    isWhole: false,
    isMore: false,
    oldest: 1,
    requests: since.revision === 0 ? requests : [],
  });
}

/** A minute of traffic with ups and downs. */
export const PULSE = Array.from({ length: 42 }, (_none, index) => ({
  id: NOW / 1000 - 58 + index + Math.floor(index / 3),
  requests: 1 + ((index * 7) % 11) * (index % 4),
  refused: index % 7 === 6 ? 1 : 0,
  errors: index % 9 === 8 ? 2 : 0,
}));

/** A tunnel with that address. */
function tunnel(key: string, slug: string, changes: Partial<TunnelView>): TunnelView {
  return exampleTunnel({ key, slug, url: `https://${slug}.tunnels.example.com`, ...changes });
}

export const SHOP = tunnel('shop', 'shop-demo', {
  name: 'shop-demo',
  localPort: 5173,
  framework: 'Vite',
  isIdle: true,
  expiresAt: NOW + 41 * MINUTE,
  requests: 1284,
  bytesIn: 612_000,
  bytesOut: 36_200_000,
  recent: REQUESTS.slice(0, 3),
  pulse: PULSE,
});
export const HOOKS = tunnel('hooks', 'stripe-hooks', {
  name: 'stripe-hooks',
  localPort: 3000,
  framework: 'Node',
  expiresAt: NOW + 4 * MINUTE,
  requests: 17,
  bytesIn: 21_300,
  bytesOut: 4100,
});
export const HERON = tunnel('heron', 'quiet-heron-k3f9', {
  localPort: 8080,
  ttl: 4 * 3600,
  expiresAt: NOW + 2 * HOUR + 58 * MINUTE,
  localProblem: {
    code: 'local-refused',
    text: 'Nothing is listening on port 8080. Visitors see a 502 error until you start your server.',
  },
});
export const CONNECTING = tunnel('new', 'calm-otter-p7c2', {
  localPort: 4321,
  framework: 'Astro',
  status: { name: 'connecting' },
  expiresAt: NOW + HOUR,
});
export const ENDED = tunnel('old', 'brave-finch-t5x1', {
  localPort: 8000,
  status: { name: 'ended', reason: 'expired', why: 'The tunnel has expired.' },
  requests: 3,
});

/** One tunnel of each kind, without requests. */
export const QUIET_SHOP: TunnelView = { ...SHOP, recent: [], requests: 0 };
export const LOST: TunnelView['status'] = {
  name: 'reconnecting',
  retryAt: NOW + 4000,
  why: 'No connection to the relay: the connection was reset.',
};

const LINKS: readonly LinkView[] = [
  { id: 'l3', note: 'for the review', expiresAt: NOW + 23 * HOUR + 59 * MINUTE },
  { id: 'l2', note: 'Ann, from the agency that makes the pictures', expiresAt: NOW + 6 * 24 * HOUR },
  { id: 'l1', note: '', expiresAt: NOW + 38 * MINUTE, once: { usedAt: NOW - 5 * MINUTE } },
];
export const PASSWORD: TunnelAccessView = { kind: 'password', password: 'mild-oak-fern' };
export const KNOCKS: readonly ApprovalRequestView[] = [
  {
    id: 'n1',
    address: '203.0.113.7',
    agent: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/156.0 Safari/537.36',
  },
  {
    id: 'n2',
    address: '2001:db8:85a3:8d3:1319:8a2e:370:7348',
    agent: 'Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) Version/26.0 Mobile/15E148 Safari/604.1',
  },
];
const CLIENT = { name: 'Claude', host: 'claude.ai', returns_to: 'claude.ai' };
export const AGENT_KNOCKS: readonly ApprovalRequestView[] = [
  { id: 'n3', address: '203.0.113.7', agent: '', client: CLIENT },
  {
    id: 'n4',
    address: '2001:db8:85a3:8d3:1319:8a2e:370:7348',
    agent: '',
    client: {
      name: 'Claude',
      host: `claude.ai.${'sign-in.'.repeat(8)}evil.example`,
      returns_to: 'localhost',
    },
  },
];
const AGENTS: readonly AgentView[] = [
  {
    id: 'a1',
    name: 'Claude',
    host: 'claude.ai',
    returnsTo: 'claude.ai',
    user: null,
    since: NOW - 3 * 24 * HOUR,
    usedAt: NOW - 4 * MINUTE,
  },
  {
    id: 'a2',
    name: 'Visual Studio Code',
    host: 'vscode.dev',
    returnsTo: '127.0.0.1',
    user: 'ann.the-first@example.com',
    since: NOW - 2 * HOUR,
    usedAt: undefined,
  },
  {
    id: 'a3',
    name: '',
    host: `claude.ai.${'sign-in.'.repeat(8)}evil.example`,
    returnsTo: 'localhost',
    user: null,
    since: NOW,
    usedAt: NOW,
  },
];
const ADMITTED: readonly ApprovedView[] = KNOCKS.map((knock, index) => ({
  ...knock,
  endsAt: NOW + (index * 6 * 24 + 1) * HOUR - 17 * MINUTE,
}));
function locked(key: string, slug: string, lock: TunnelAccessView): TunnelView {
  const { url } = tunnel(key, slug, {});
  return { ...HERON, key, slug, url, localProblem: undefined, lock };
}

export const LOCKED: readonly TunnelView[] = [
  { ...QUIET_SHOP, lock: PASSWORD },
  locked('review', 'design-review', { kind: 'links' }),
  locked('office', 'office-wiki', {
    kind: 'addresses',
    allow: ['203.0.113.0/24', '198.51.100.7', '2001:db8::/32'],
  }),
  locked('other', 'nightly-build', { kind: 'other', parts: ['addresses', 'users'], password: undefined }),
];
