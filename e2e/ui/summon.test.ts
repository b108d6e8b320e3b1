/**
 * The window after the global shortcut: what the page does then. The keys belong to the system, and are tested beside
 * their code.
 */
import assert from 'node:assert/strict';
import { exampleSnapshot, exampleTunnel } from '../../desktop/testing/views.ts';
import { eventually } from '../support/deadline.ts';
import { testScope } from '../support/scope.ts';
import { openScripted } from './support/running-app.ts';
import { ScriptedMain } from './support/scripted-main.ts';
import { focused } from './support/visit.ts';

describe('the window after the global shortcut', () => {
  const scope = testScope();
  async function open() {
    const main = new ScriptedMain(exampleSnapshot({ tunnels: [exampleTunnel({ key: 'shop' })] }));
    const page = await openScripted(scope, main);
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('heading', { name: 'Settings' }).waitFor();
    const copies = () => main.calls.filter(({ channel }) => channel === 'tunnel:copy-url').length;
    return { page, main, copies };
  }

  it('focuses the newest address from any screen, and copies it the second time', async () => {
    const { page, main, copies } = await open();
    await main.push('address:show', { key: 'shop', copies: false });
    await focused(page, 'copy-shop');
    assert.equal(copies(), 0);
    await main.push('address:show', { key: 'shop', copies: true });
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    assert.equal(copies(), 1);
  });

  it('also copies an address that is not in view', async () => {
    const { main, copies } = await open();
    await main.push('address:show', { key: 'shop', copies: true });
    await eventually(20_000, () => assert.equal(copies(), 1));
  });
});
