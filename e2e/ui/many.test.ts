import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { SavedTunnel } from '../../desktop/app/main/tunnels/create-form-schema.ts';
import type { TestAccount } from '../support/accounts.ts';
import { giveTunnels } from '../support/database.ts';
import { Relay } from '../support/programs.ts';
import { startHttpService } from '../support/services/listen.ts';
import { card, appScenarios } from './support/fixture.ts';
import { visit } from './support/visit.ts';

const TUNNELS = 50;

appScenarios('fifty tunnels', (fixture) => {
  /** The app of a user with fifty tunnels, after a restart of relay and app. */
  async function openFifty() {
    const relay = await Relay.start(fixture.scope);
    const { account, directory } = await fixture.openSignedIn({ relay, plan: 'team' });
    const service = await startHttpService(fixture.scope, (_, response) => response.end('hello'));
    const given = Array.from({ length: TUNNELS }, (_, index) => ({
      slug: `service-${index + 1}`,
      localPort: service.port,
    }));
    await fixture.end(directory);
    await giveTunnels(fixture.scope, relay, account, given);
    await remember(directory, account);
    const { page } = await fixture.open(directory);
    await page.getByPlaceholder(`Search ${TUNNELS} tunnels`).waitFor();
    return { page, account, port: service.port };
  }

  it('are all listed and online, searched, and scrolled to the last one, whose visitor shows', async () => {
    const { page, account } = await openFifty();
    const slugs = await page.locator('.card .address b').allTextContents();
    assert.deepEqual(
      slugs,
      Array.from({ length: TUNNELS }, (_, index) => `service-${TUNNELS - index}`),
    );
    await allOnline(page);

    const oldest = (await account.api.list()).at(-1);
    assert.equal(oldest?.slug, 'service-1');
    const last = card(page, 'service-1');
    assert.equal((await visit(`${oldest.public_url}/fiftieth`)).body, 'hello');
    assert.equal(await isInView(page, 'service-1'), false);
    await page.getByRole('main').hover();
    await page.mouse.wheel(0, 100_000);
    await last.getByRole('button', { name: 'GET /fiftieth 200' }).waitFor();
    await last.getByText('1 request', { exact: true }).waitFor();
    await last.getByRole('button', { name: 'Copy the address of service-1' }).click();
    await last.getByText('Copied').waitFor();
    assert.equal(await isInView(page, 'service-1'), true);

    await page.getByLabel('Search tunnels').fill('service-37');
    await card(page, 'service-1').waitFor({ state: 'detached' });
    assert.deepEqual(await page.locator('.card .address b').allTextContents(), ['service-37']);
    await page.getByLabel('Search tunnels').fill('nothing like it');
    await page.getByText('No tunnel matches “nothing like it”.').waitFor();
  });
});

async function allOnline(page: Page): Promise<void> {
  await page
    .locator('.card')
    .getByText('Online')
    .nth(TUNNELS - 1)
    .waitFor({ state: 'attached' });
}

/** Writes the state that the app would have stored if it had created the account's tunnels itself. */
async function remember(directory: string, account: TestAccount): Promise<void> {
  const path = join(directory, 'culvert.json');
  const file = JSON.parse(readFileSync(path, 'utf8')) as { data: { tunnels: SavedTunnel[] } };
  file.data.tunnels = (await account.api.list()).map((tunnel) => ({
    key: tunnel.id,
    form: { port: tunnel.local_port, name: '', ttl: '', idle: false, hostHeader: 'keep' },
    tunnel,
    ended: undefined,
  }));
  writeFileSync(path, JSON.stringify(file));
}

async function isInView(page: Page, slug: string): Promise<boolean> {
  const box = await card(page, slug).boundingBox();
  return box !== null && box.y < (await page.evaluate<number>('innerHeight'));
}
