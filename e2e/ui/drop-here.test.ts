/** The hint in the window while something is dragged over it. */
import type { Page } from 'playwright-core';
import { testScope } from '../support/scope.ts';
import { SCENES } from './gallery/gallery.ts';
import { NOW, type Scene } from './gallery/scripted.ts';
import { openScripted } from './support/running-app.ts';

async function drag(page: Page, type: string, relatedTarget: string): Promise<void> {
  await page.evaluate(`{
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([], 'nothing'));
    const relatedTarget = ${relatedTarget};
    document.querySelector('main, [role=main]').dispatchEvent(
      new DragEvent(${JSON.stringify(type)}, { bubbles: true, cancelable: true, dataTransfer, relatedTarget }),
    );
  }`);
}

function tunnelsScene(): Scene {
  const scene = SCENES.find(({ name }) => name === 'tunnels');
  if (scene === undefined) throw new Error('there is no such scene');
  return scene;
}

describe('the hint while something is dragged over the window', () => {
  const scope = testScope();

  it('describes the effect of dropping, until the drag leaves the window or ends', async () => {
    const page = await openScripted(scope, tunnelsScene().main(), { now: NOW });
    await page.getByRole('main').waitFor();
    const words = page.getByText('Drop a folder to share it or to open the project in it');
    await drag(page, 'dragover', 'null');
    await words.waitFor();
    // To another part of the window.
    await drag(page, 'dragleave', 'document.body');
    await drag(page, 'dragleave', 'null');
    await words.waitFor({ state: 'detached' });
    await drag(page, 'dragover', 'null');
    await words.waitFor();
    await drag(page, 'drop', 'null');
    await words.waitFor({ state: 'detached' });
  });

  it('works from the first moment at which the window shows anything', async () => {
    const page = await openScripted(scope, tunnelsScene().main(), {
      now: NOW,
      isOwn: true,
    });
    await page.addInitScript(`new MutationObserver((_changes, observer) => {
      const main = document.querySelector('main, [role=main]');
      if (main === null) return;
      observer.disconnect();
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([], 'nothing'));
      main.dispatchEvent(new DragEvent('dragover', { bubbles: true, cancelable: true, dataTransfer }));
    }).observe(document, { childList: true, subtree: true });`);
    await page.reload();
    await page.getByText('Drop a folder to share it').waitFor();
  });
});
