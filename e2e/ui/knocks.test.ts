/** Approval requests, as the window shows and answers them (main is scripted). */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { ApprovalRequestView } from '../../desktop/app/ipc/tunnel-views.ts';
import { exampleSnapshot, exampleTunnel } from '../../desktop/testing/views.ts';
import { eventually } from '../support/deadline.ts';
import { testScope } from '../support/scope.ts';
import { openScripted } from './support/running-app.ts';
import { ScriptedMain } from './support/scripted-main.ts';
import { focused, focusedName } from './support/visit.ts';

const NOW = Date.UTC(2026, 10, 21, 22, 30);
const ANN: ApprovalRequestView = {
  id: 'n1',
  address: '203.0.113.7',
  agent: 'Mozilla/5.0 (X11; Linux) Firefox/150.0',
};
const BEN: ApprovalRequestView = { id: 'n2', address: '2001:db8::7', agent: 'curl/8.18.0' };
const TUNNEL = exampleTunnel({
  key: 'shop',
  slug: 'shop',
  url: 'https://shop.tunnels.example.com',
  lock: { kind: 'knock' },
});

/** Sets the visitors who wait from now on. */
async function knocking(main: ScriptedMain, ...knocks: ApprovalRequestView[]): Promise<void> {
  await main.show({ tunnels: [{ ...TUNNEL, knocks }] });
}

/** The answers to requests that main received, once there are this many. */
function asked(main: ScriptedMain, count: number): Promise<ScriptedMain['calls']> {
  return eventually(20_000, async () => {
    const answers = main.calls.filter(({ channel }) => channel.startsWith('knock:'));
    assert.equal(answers.length, count);
    return answers;
  });
}

describe('approval requests', () => {
  const scope = testScope();

  async function open(...knocks: ApprovalRequestView[]): Promise<{ page: Page; main: ScriptedMain }> {
    const main = new ScriptedMain(exampleSnapshot({ tunnels: [{ ...TUNNEL, knocks }] }));
    const page = await openScripted(scope, main, { now: NOW, timezoneId: 'UTC' });
    await page.getByRole('heading', { name: 'shop' }).waitFor();
    return { page, main };
  }

  it('show who asks, are announced to screen readers, and are answered individually', async () => {
    const { page, main } = await open();
    await knocking(main, ANN);
    await page.getByText('Firefox on Linux is asking for access from 203.0.113.7').waitFor();
    await page.getByRole('status').getByText('Firefox on Linux is asking for access to shop.').waitFor();
    await knocking(main, ANN, BEN);
    await page.getByRole('button', { name: 'Deny curl, 2001:db8::7' }).click();
    await asked(main, 1);
    await knocking(main, ANN);
    await page.getByLabel('Duration of access for Firefox on Linux').selectOption('for today');
    await page.getByRole('button', { name: 'Approve Firefox on Linux, 203.0.113.7' }).click();
    assert.deepEqual(await asked(main, 2), [
      { channel: 'knock:refuse', payload: { key: 'shop', id: 'n2' } },
      { channel: 'knock:admit', payload: { key: 'shop', id: 'n1', ttl: '90m' } },
    ]);
    await knocking(main);
    await page.getByText('is asking for access from').waitFor({ state: 'detached' });
  });

  it('are reached from their notification, from any screen, and answered with the keyboard', async () => {
    const { page, main } = await open(ANN, BEN);
    const keys = page.keyboard;
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
    await main.push('tunnel:show', { key: 'shop' });
    await focusedName(page, /^Approve Firefox/);
    await keys.press('Enter');
    assert.deepEqual((await asked(main, 1))[0]?.payload, { key: 'shop', id: 'n1', ttl: '1h' });
    // When one is answered, the focus moves to the next one, and after the last one to a nearby element.
    await knocking(main, BEN);
    await focusedName(page, /^Approve curl/);
    await keys.press('Enter');
    await asked(main, 2);
    await knocking(main);
    await focused(page, 'lock-shop');
  });

  it('do not move the focus when they arrive', async () => {
    const { page, main } = await open();
    await page.getByLabel('Port', { exact: true }).focus();
    await knocking(main, ANN);
    await page.getByText('is asking for access from').waitFor();
    await focused(page, 'port');
  });
});
