import assert from 'node:assert/strict';
import { exampleSnapshot } from '../../desktop/testing/views.ts';
import { eventually } from '../support/deadline.ts';
import { testScope } from '../support/scope.ts';
import { SCENES } from './gallery/gallery.ts';
import { NOW } from './gallery/scripted.ts';
import { openScripted } from './support/running-app.ts';
import { Refusal, ScriptedMain } from './support/scripted-main.ts';

/** A card asks for the time a few times when it is drawn, and then only at a tick. A hidden window has no ticks. */
const COUNT_QUESTIONS = `
  Object.defineProperty(document, 'hidden', { get: () => true });
  const { now } = Date;
  let questions = 0;
  Date.now = () => ((questions += 1), now());
`;

describe('a snapshot in which one of fifty tunnels has changed', () => {
  const scope = testScope();

  it('redraws only the card of that tunnel', async () => {
    const scene = SCENES.find(({ name }) => name === 'many');
    assert.ok(scene);
    const main = scene.main();
    const page = await openScripted(scope, main, { now: NOW });
    const { tunnels } = main.snapshot;
    const cards = page.locator('.card');
    await cards.nth(tunnels.length - 1).waitFor({ state: 'attached' });
    assert.equal(await cards.count(), tunnels.length);
    await page.evaluate(`{${COUNT_QUESTIONS} globalThis.questions = () => questions; }`);

    await main.show({
      tunnels: tunnels.map((tunnel, n) => (n === 45 ? { ...tunnel, requests: 4711 } : tunnel)),
    });
    await page.locator('.card', { hasText: 'service-45' }).getByText('4,711').waitFor();
    const questions = await page.evaluate<number>('questions()');
    assert.ok(questions > 0 && questions < tunnels.length / 2, `${questions} questions for the time`);
  });
});

describe('the port field', () => {
  const scope = testScope();

  it('accepts no suggestion once it was emptied, because that would end up in front of what is typed', async () => {
    const scene = SCENES.find(({ name }) => name === 'ports');
    assert.ok(scene);
    const main = scene.main();
    const { ports } = main.snapshot;
    assert.ok(ports.length > 0);
    const page = await openScripted(scope, main, { now: NOW });
    const field = page.getByLabel('Port', { exact: true });
    await eventually(20_000, async () => assert.notEqual(await field.inputValue(), ''));
    await field.fill('');
    await main.show({ ports: [] });
    await main.show({ ports });
    await eventually(20_000, async () => assert.equal(await field.inputValue(), ''));
    await field.press('ArrowDown');
    await page.getByRole('option').first().waitFor();
    await page.keyboard.type('39');
    assert.equal(await field.inputValue(), '39');
  });

  it('exposes the typed port, whatever starts to listen in between', async () => {
    const refused = { code: 'none', text: 'Only what was asked for matters.' };
    const main = new ScriptedMain(exampleSnapshot(), {
      'tunnel:create': () => {
        throw new Refusal(refused);
      },
    });
    const page = await openScripted(scope, main, { now: NOW });
    const listens = async (port: number): Promise<void> => {
      await main.show({ ports: [{ port, process: 'node', framework: undefined }] });
    };
    const field = page.getByLabel('Port', { exact: true });
    const button = page.getByRole('button', { name: 'Expose' });
    await field.selectText();
    await listens(4001);
    await page.keyboard.insertText('4711');
    await listens(4002);
    await button.hover();
    await listens(4003);
    await page.mouse.down();
    await listens(4004);
    await page.mouse.up();
    await page.getByText(refused.text).waitFor();
    const asked = main.calls.filter(({ channel }) => channel === 'tunnel:create');
    assert.deepEqual(
      asked.map(({ payload }) => (payload as { port: number }).port),
      [4711],
    );
  });

  it('keeps the chosen port when another one is listed before it', async () => {
    const scene = SCENES.find(({ name }) => name === 'ports');
    assert.ok(scene);
    const main = scene.main();
    const { ports } = main.snapshot;
    const page = await openScripted(scope, main, { now: NOW });
    const field = page.getByLabel('Port', { exact: true });
    await field.fill('');
    await page.keyboard.press('ArrowDown');
    const chosen = page.getByRole('option', { selected: true }).locator('b');
    const port = await chosen.innerText();
    await main.show({ ports: [{ port: 1234, process: 'late', framework: undefined }, ...ports] });
    await page.getByRole('option', { name: '1234' }).waitFor();
    assert.equal(await chosen.innerText(), port);
    await page.keyboard.press('Enter');
    assert.equal(await field.inputValue(), port);
  });
});
