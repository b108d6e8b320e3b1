/** Dev servers behind a subdomain: pages load, and a saved file changes them without a reload. */
import assert from 'node:assert/strict';
import type { Browser } from 'playwright-core';
import { eventually } from '../support/deadline.ts';
import { Culvert, Relay } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';
import { closedPort } from '../support/services/listen.ts';
import { launchBrowser, openPage, Project } from './project.ts';

/** Set in a page. A reload would lose it. */
const MARK = 'data-loaded-once';

/** A component with state, which a fast refresh keeps. Its button can be pressed once React runs in the page. */
function nextPage(text: string): string {
  return `
    'use client';
    import { useEffect, useState } from 'react';
    export default function Page() {
      const [count, setCount] = useState(0);
      const [runs, setRuns] = useState(false);
      useEffect(() => setRuns(true), []);
      return <>
        <p id="text">${text}</p>
        <button disabled={!runs} onClick={() => setCount(count + 1)}>{'pressed ' + count}</button>
      </>;
    }
  `;
}

describe('a dev server behind a tunnel', () => {
  const scope = suiteScope();
  let relay: Relay;
  let browser: Browser;

  before(async function () {
    relay = await Relay.start(scope);
    browser = await launchBrowser(scope);
  });

  /**
   * Opens the page, saves `change`, and waits until the page shows it without a reload.
   *
   * @param ready message by which the dev server shows that it reports changes; it may miss earlier changes, with or
   * without a tunnel
   */
  async function expectHotReload(
    name: string,
    port: number,
    ready: RegExp,
    change: () => void,
  ): Promise<void> {
    await Culvert.start(scope, relay, relay.bootstrapKey, port, ['--name', name]);
    const host = `${name}.localhost:${relay.port}`;
    const { page, webSockets, messages } = await openPage(browser, `http://${host}/`);
    await page.locator('#text', { hasText: 'before' }).waitFor();
    // A pressed button proves that scripts run. Its state has to survive the change.
    await page.locator('button', { hasText: 'pressed 0' }).click();
    await page.locator('button', { hasText: 'pressed 1' }).waitFor();
    await page.evaluate(`document.documentElement.setAttribute('${MARK}', '')`);
    await eventually(30_000, () => assert.match(messages.join('\n'), ready));
    change();
    await page.locator('#text', { hasText: 'after' }).waitFor();
    await page.locator('button', { hasText: 'pressed 1' }).waitFor();
    assert.equal(await page.locator(`html[${MARK}]`).count(), 1, 'the page was reloaded');
    assert.ok(
      webSockets.length > 0 && webSockets.every((url) => url.startsWith(`ws://${host}/`)),
      webSockets.join(),
    );
    await page.close();
  }

  it('Vite reloads modules hot', async () => {
    const project = new Project(scope, {
      'index.html': '<p id="text"></p><button></button><script type="module" src="/main.js"></script>',
      'text.js': 'export const text = "before";',
      'main.js': `
        import { text } from './text.js';
        const show = (text) => (document.querySelector('#text').textContent = text);
        const button = document.querySelector('button');
        let count = 0;
        const count0 = () => (button.textContent = 'pressed ' + count);
        button.onclick = () => ((count += 1), count0());
        show(text);
        count0();
        import.meta.hot.accept('./text.js', (module) => show(module.text));
      `,
    });
    const port = await closedPort();
    const args = [project.folder, '--host', '127.0.0.1', '--port', String(port), '--strictPort'];
    await project.serve(scope, 'vite/bin/vite.js', args, /Local:/);
    await expectHotReload('vite', port, /"type":"connected"/, () =>
      project.write('text.js', 'export const text = "after";'),
    );
  });

  it('Next.js refreshes components fast', async () => {
    const project = new Project(scope, {
      'app/layout.jsx': `
        export default function Layout({ children }) {
          return <html><body>{children}</body></html>;
        }
      `,
      'app/page.jsx': nextPage('before'),
    });
    project.write(
      'next.config.mjs',
      // Otherwise Next.js looks for the root of the project above the folder of this repository.
      `export default { turbopack: { root: ${JSON.stringify(new URL('.', `file://${project.folder}`).pathname)} } };`,
    );
    const port = await closedPort();
    const args = ['dev', project.folder, '--hostname', '127.0.0.1', '--port', String(port)];
    await project.serve(scope, 'next/dist/bin/next', args, /Ready in/);
    await expectHotReload('next', port, /"type":"built"/, () =>
      project.write('app/page.jsx', nextPage('after')),
    );
  });
});
