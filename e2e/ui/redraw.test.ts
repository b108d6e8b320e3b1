import assert from 'node:assert/strict';
import { testScope } from '../support/scope.ts';
import { openWindow } from './support/app-window.ts';
import { NOW, SCENES } from './support/gallery.ts';
import { sharedBrowser, sharedWindow } from './support/shared.ts';

/** A card asks for the time a few times when it is drawn, and then only at a tick; a hidden window has no ticks. */
const COUNT_QUESTIONS = `
  Object.defineProperty(document, 'hidden', { get: () => true });
  const { now } = Date;
  let questions = 0;
  Date.now = () => ((questions += 1), now());
`;

describe('a snapshot in which one of fifty tunnels has changed', () => {
  const scope = testScope();

  it('redraws only the card of that one', async () => {
    const scene = SCENES.find(({ name }) => name === 'many');
    assert.ok(scene);
    const main = scene.main();
    const [browser, built] = await Promise.all([sharedBrowser(), sharedWindow()]);
    const page = await openWindow(scope, browser, built, main, { now: NOW });
    const { tunnels } = main.snapshot;
    const cards = page.locator('.card');
    await cards.nth(tunnels.length - 1).waitFor({ state: 'attached' });
    assert.equal(await cards.count(), tunnels.length);
    await page.evaluate(`{${COUNT_QUESTIONS} globalThis.questions = () => questions; }`);

    await main.show({
      tunnels: tunnels.map((tunnel, n) => (n === 20 ? { ...tunnel, requests: 4711 } : tunnel)),
    });
    await page.locator('.card', { hasText: 'service-20' }).getByText('4,711').waitFor();
    const questions = await page.evaluate<number>('questions()');
    assert.ok(questions > 0 && questions < tunnels.length / 2, `${questions} questions for the time`);
  });
});
