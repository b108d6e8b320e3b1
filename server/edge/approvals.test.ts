import assert from 'node:assert/strict';
import { parseRequestHead } from '../../shared/http1/head.ts';
import { KNOCK_SECONDS } from '../../shared/knocks.ts';
import { AccessPolicy } from '../access/access-policy.ts';
import { ApprovalRequests, ApprovalWaits, KNOCK_HOLDS_MAX } from '../access/approval-requests.ts';
import { Passes } from '../access/passes.ts';
import type { StoredKnock } from '../store/records.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { anAccess } from '../testing/fixtures.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { accessStep } from './access-pages.ts';
import { Approvals, KNOCK_HOLD_MS, KNOCK_LOOK_SECONDS } from './approvals.ts';

const ID = '0123456789abcdef';
const WAIT = '/x?culvert_gate=wait';

describe('Approvals, for waiting visitors', () => {
  let clock: FakeClock;
  let waits: ApprovalWaits;
  let knocking: Approvals;
  let tunnel: { id: string; access: AccessPolicy; knocks: ApprovalRequests };

  beforeEach(() => {
    clock = new FakeClock();
    waits = new ApprovalWaits(clock);
    tunnel = {
      id: 'one',
      access: new AccessPolicy(anAccess({ version: 'v1', knock: true })),
      knocks: knocks(null),
    };
    knocking = new Approvals({
      knocks: { knock: () => assert.fail('nobody knocks') },
      waits,
      passes: new Passes('lasting', () => ({ current: 'key', others: [] })),
      secure: false,
      contact: undefined,
      now: () => clock.now(),
    });
  });

  function knocks(answer: StoredKnock['answer'], at = clock.now()): ApprovalRequests {
    return new ApprovalRequests({
      version: 'v1',
      knocks: [{ id: ID, address: '192.0.2.1', agent: '', at, answer }],
    });
  }

  /** The text that the visitor gets. */
  async function look(target: string, accept = 'text/html', method = 'GET'): Promise<string> {
    const text = `${method} ${target} HTTP/1.1\r\nHost: a.localhost\r\nAccept: ${accept}\r\n\r\n`;
    const head = parseRequestHead(Buffer.from(text), { target: 1000, fields: 9 });
    assert.ok(typeof head === 'object');
    const visit = { tunnel: tunnel as unknown as LiveTunnel, prefix: '', target };
    const step = accessStep(head, visit);
    const { access } = tunnel;
    const response = await knocking.respond({ head, visit, access, address: '192.0.2.1', knock: ID, step });
    return response?.bytes(false).toString() ?? 'nothing';
  }

  it('report the time waited and the time left immediately, at the requested address', async () => {
    assert.match(await look('/x'), /^HTTP\/1\.1 401 .*Refresh: 0;url=\/x\?culvert_gate=wait\r\n/s);
    assert.match(
      await look('/x'),
      /<strong>a moment<\/strong> ago.*waits for up to <strong>5 minutes<\/strong> more/s,
    );
    clock.advance(100_000);
    assert.match(
      await look('/x'),
      /<strong>2 minutes<\/strong> ago.*up to <strong>3 minutes<\/strong> more/s,
    );
    assert.match(await look('/x', 'application/json'), /"knock":"waiting".*"seconds_left":200/);
    assert.equal(await look('/x', 'text/html', 'POST'), 'nothing');
  });

  it('respond after 25 s with the time waited, and as soon as there is an answer', async () => {
    const first = look(WAIT);
    clock.advance(KNOCK_HOLD_MS - 1);
    assert.equal(waits.size, 1);
    clock.advance(1);
    assert.match(await first, /^HTTP\/1\.1 202 .*<strong>25 seconds<\/strong> ago/s);
    const second = look(WAIT);
    // Another visitor asks.
    waits.wake('one', 'changed');
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    assert.equal(waits.size, 1);
    tunnel.knocks = knocks(clock.now() + 1000);
    waits.wake('one', 'changed');
    assert.match(await second, /^HTTP\/1\.1 303 .*Location: \/x\r\n/s);
  });

  it('report that nobody has answered, at that moment and later', async () => {
    clock.advance(KNOCK_SECONDS * 1000 - 10);
    const held = look(WAIT);
    clock.advance(10);
    assert.match(await held, /^HTTP\/1\.1 401 .*No answer.*Ask again/s);
    assert.match(await look('/x'), /^HTTP\/1\.1 401 .*action="\/x\?culvert_gate=knock"/s);
    assert.match(await look('/x', 'application/json'), /"knock":"unanswered"/);
  });

  it('check again after 5 s if no response is held back', async () => {
    for (let count = 0; count < KNOCK_HOLDS_MAX; count += 1) void look(WAIT);
    assert.match(await look(WAIT), new RegExp(`Refresh: ${KNOCK_LOOK_SECONDS};url=`));
    waits.release();
    assert.match(await look(WAIT), new RegExp(`Refresh: ${KNOCK_LOOK_SECONDS};url=`));
  });

  it('redirect if the situation has changed', async () => {
    const changed = look(WAIT);
    tunnel.access = new AccessPolicy({ ...tunnel.access.stored, version: 'v2' });
    waits.wake('one', 'changed');
    assert.match(await changed, /^HTTP\/1\.1 303 /);
    const over = look(WAIT);
    waits.wake('one', 'over');
    assert.match(await over, /^HTTP\/1\.1 303 /);
  });
});
