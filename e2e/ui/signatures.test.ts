import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { Page } from 'playwright-core';
import { startHttpService } from '../support/services/listen.ts';
import { expose, appScenarios } from './support/fixture.ts';
import { assertReadable } from './support/readable.ts';
import { focused, focusedName, visit } from './support/visit.ts';

const SECRET = 'whsec_4eC39HqLyjWDarjtT1zdp7dc';
const BODY = '{"id":"evt_1","type":"invoice.paid"}';
const DAY_S = 86_400;

/** Signs like Stripe, so that its own libraries accept it. */
function stripeSignature(time: number, body: string): string {
  return `t=${time},v1=${createHmac('sha256', SECRET).update(`${time}.${body}`).digest('hex')}`;
}

appScenarios('signatures of webhooks', (fixture) => {
  /** A tunnel to a service that accepts only webhooks of Stripe, and its log after two of them. */
  async function openHooks() {
    const answers: number[] = [];
    const service = await startHttpService(fixture.scope, (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const given = String(request.headers['stripe-signature']);
        const time = Number(/^t=(\d+)/.exec(given)?.[1]);
        const isRight = given === stripeSignature(time, body) && Math.abs(Date.now() / 1000 - time) <= 300;
        answers.push((response.statusCode = isRight ? 200 : 400));
        response.end();
      });
    });
    const { page, app, directory } = await fixture.openSignedIn();
    const slug = await expose(page, service.port);
    const address = (await app.tunnel()).url;
    const now = Math.floor(Date.now() / 1000);
    for (const [path, time] of [
      ['/yesterday', now - DAY_S],
      ['/today', now],
    ] as const) {
      const headers = { 'stripe-signature': stripeSignature(time, BODY) };
      await visit(`${address}${path}`, { method: 'POST', body: BODY, type: 'application/json', headers });
    }
    await page.getByRole('button', { name: `All requests to ${slug}` }).click();
    return { page, directory, answers };
  }

  it('are checked once the secret is entered, by keyboard alone, and the log shows the result', async () => {
    const { page } = await openHooks();
    await row(page, /POST Stripe \/today 200/).click();
    await page.getByText('Not checked: Culvert does not know the secret.').waitFor();
    await assertReadable(page, 'no secret');
    await setSecret(page, SECRET);
    await page
      .getByText('Valid: the request was signed with this secret, and its body is unchanged.')
      .waitFor();
    await focusedName(page, /^1 secret$/);
    await assertReadable(page, 'valid');
    await page.keyboard.press('Escape');
    await row(page, /POST Stripe valid \/today 200/).waitFor();
    await row(page, /POST Stripe too old \/yesterday 400/).waitFor();
  });

  it('that are too old are renewed, so that the service accepts the request', async () => {
    const { page, answers } = await openHooks();
    assert.deepEqual(answers, [400, 200]);
    await row(page, /POST Stripe \/yesterday 400/).click();
    await setSecret(page, SECRET);
    await page.getByText('Too old: the signature matches').waitFor();
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    await page.getByText('Replay of request').waitFor();
    assert.deepEqual(answers, [400, 200, 400]);
    await page.getByRole('button', { name: 'Sign and send again' }).click();
    await page
      .getByText('Valid: the request was signed with this secret, and its body is unchanged.')
      .waitFor();
    assert.deepEqual(answers, [400, 200, 400, 200]);
  });

  it('are created for an edited request, unless that is disabled', async () => {
    const { page, answers } = await openHooks();
    await row(page, /POST Stripe \/yesterday 400/).click();
    await setSecret(page, SECRET);
    await page.getByText('Too old: the signature matches').waitFor();
    await page.getByRole('button', { name: 'Edit and send' }).click();
    await page.getByLabel('Body').fill('{"id":"evt_2"}');
    const signs = page.getByRole('checkbox', { name: 'Sign for Stripe' });
    assert.equal(await signs.isChecked(), true);
    await assertReadable(page, 'an edited webhook');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await sent(page, 200).waitFor();
    await signs.uncheck();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await sent(page, 400).waitFor();
    assert.deepEqual(answers, [400, 200, 200, 400]);
    await signs.check();
    await page.getByRole('button', { name: 'Remove Stripe-Signature' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Culvert cannot sign this request').waitFor();
    assert.equal(answers.length, 4);
  });

  it('are checked with each of several secrets, which can be removed', async () => {
    const { page } = await openHooks();
    await row(page, /POST Stripe \/today 200/).click();
    await setSecret(page, 'whsec_other');
    await page.getByText('Invalid: the request was signed with a different secret').waitFor();
    await page.getByRole('button', { name: '1 secret', exact: true }).click();
    await setSecret(page, SECRET);
    await page.getByText('Valid: the request was signed with').waitFor();
    await page.getByRole('button', { name: '2 secrets' }).click();
    const secrets = page.getByRole('list', { name: 'Secrets' }).getByRole('button');
    await secrets.first().click();
    await page.getByText('Invalid: the request was signed with a different secret').waitFor();
    await secrets.first().click();
    await page.getByText('Not checked: Culvert does not know the secret.').waitFor();
    await focused(page, 'signing-secret');
  });
});

/** A row of the log. */
function row(page: Page, name: RegExp) {
  return page.locator('.log').getByRole('button', { name });
}

/** The editor's report on the sent request. */
function sent(page: Page, status: number) {
  return page.locator('.sent-result', { hasText: new RegExp(`^${status} · `) });
}

async function setSecret(page: Page, secret: string): Promise<void> {
  const field = page.getByLabel('Signing secret');
  if (!(await field.isVisible())) await page.locator('#signing-secrets').click();
  await field.fill(secret);
  await page.keyboard.press('Enter');
}
