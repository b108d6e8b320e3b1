import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { Page } from 'playwright-core';
import { startHttpService } from '../support/services/listen.ts';
import { expose, appScenarios } from './support/fixture.ts';
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
    const { page, app } = await fixture.openSignedIn();
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
    return { page, answers };
  }

  it('are checked with each of several secrets, entered by keyboard alone and removed, and shown in the log', async () => {
    const { page } = await openHooks();
    await row(page, /POST Stripe \/today 200/).click();
    await says(page, 'Not checked: Culvert does not know the secret.');
    await setSecret(page, 'whsec_other');
    await says(page, 'Invalid: the request was signed with a different secret');
    await focusedName(page, /^1 secret$/);
    await setSecret(page, SECRET);
    await says(page, VALID);
    await page.keyboard.press('Escape');
    await row(page, /POST Stripe valid \/today 200/).waitFor();
    await row(page, /POST Stripe too old \/yesterday 400/).waitFor();
    await row(page, /\/today/).click();
    await page.getByRole('button', { name: '2 secrets' }).click();
    const secrets = page.getByRole('list', { name: 'Secrets' }).getByRole('button');
    await secrets.first().click();
    await says(page, 'Invalid: the request was signed with a different secret');
    await secrets.first().click();
    await says(page, 'Not checked: Culvert does not know the secret.');
    await focused(page, 'signing-secret');
  });

  it('that are too old are renewed, also for an edited request unless that is disabled', async () => {
    const { page, answers } = await openHooks();
    await row(page, /POST Stripe \/yesterday 400/).click();
    await page.locator('#signing-secrets').click();
    await focused(page, 'signing-secret');
    // Beside a form, the letters of the request are silent.
    await page.locator('#signing-secrets').focus();
    await page.keyboard.type('recr');
    await page.locator('#signing-secrets').click();
    await setSecret(page, SECRET);
    await says(page, 'Too old: the signature matches');
    await page.getByRole('button', { name: 'Edit and send' }).click();
    await page.getByLabel('Body').fill('{"id":"evt_2"}');
    const signs = page.getByRole('checkbox', { name: 'Sign for Stripe' });
    assert.equal(await signs.isChecked(), true);
    await send(page, 200);
    await signs.uncheck();
    await send(page, 400);
    assert.deepEqual(answers, [400, 200, 200, 400]);
    await signs.check();
    const headers = page.getByLabel('Headers', { exact: true });
    await headers.fill((await headers.inputValue()).replace(/^Stripe-Signature:.*$/im, ''));
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await says(page, 'Culvert cannot sign this request');
    await page.getByRole('button', { name: 'Back' }).click();
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    const tries = page.getByRole('group', { name: 'Tries' }).getByRole('button');
    await tries.nth(3).and(page.locator('[aria-pressed=true]')).waitFor();
    assert.deepEqual(answers, [400, 200, 200, 400, 400]);
    await page.getByRole('button', { name: 'Sign and send again' }).click();
    await says(page, VALID);
    assert.deepEqual(answers, [400, 200, 200, 400, 400, 200]);
  });
});

const VALID = 'Valid: the request was signed with this secret, and its body is unchanged.';

async function says(page: Page, words: string): Promise<void> {
  await page.getByText(words).first().waitFor();
}

/** A row of the log. */
function row(page: Page, name: RegExp) {
  return page.locator('.log').getByRole('button', { name });
}

async function send(page: Page, status: number): Promise<void> {
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.locator('.sent-result', { hasText: new RegExp(`^${status} · `) }).waitFor();
}

async function setSecret(page: Page, secret: string): Promise<void> {
  // The field has the focus as soon as it is there, and until then no letter replays the webhook.
  await page.locator('#signing-secrets').press('Enter');
  await page.keyboard.type(secret);
  await page.keyboard.press('Enter');
}
