/** Dev servers that most projects use (docs/guides/frameworks.md). More of them are in more/dev-servers.test.ts. */
import { testFramework } from './project.ts';

testFramework({
  name: 'Vite',
  apps: 'apps',
  files: {
    'index.html': '<p id="text"></p><button></button><script type="module" src="/main.js"></script>',
    'text.js': 'export const text = "before";',
    'main.js': `
      import { text } from './text.js';
      const show = (text) => (document.querySelector('#text').textContent = text);
      const button = document.querySelector('button');
      let count = 0;
      const label = () => (button.textContent = 'pressed ' + count);
      button.onclick = () => ((count += 1), label());
      show(text);
      label();
      import.meta.hot.accept('./text.js', (module) => show(module.text));
    `,
  },
  command: ['vite'],
  change: 'text.js',
  ready: /"type":"connected"/,
  setting: /Vite: server\.allowedHosts/,
});

testFramework({
  name: 'Next.js',
  apps: 'apps',
  files: {
    'app/layout.jsx': `
      export default function Layout({ children }) {
        return <html><body>{children}</body></html>;
      }
    `,
    // Its state survives a fast refresh. The button is enabled once React runs in the page.
    'app/page.jsx': `
      'use client';
      import { useEffect, useState } from 'react';
      export default function Page() {
        const [count, setCount] = useState(0);
        const [runs, setRuns] = useState(false);
        useEffect(() => setRuns(true), []);
        return <>
          <p id="text">before</p>
          <button disabled={!runs} onClick={() => setCount(count + 1)}>{'pressed ' + count}</button>
        </>;
      }
    `,
    // Without the root, Next.js looks for it above the folder of this repository.
    'next.config.mjs': `
      import { dirname } from 'node:path';
      export default { turbopack: { root: dirname(import.meta.dirname) } };
    `,
  },
  command: ['next', 'dev'],
  change: 'app/page.jsx',
  ready: /"type":"built"/,
  setting: /Next\.js: allowedDevOrigins/,
});

testFramework({
  name: 'webpack-dev-server',
  apps: 'apps',
  files: {
    'public/index.html': '<p id="text"></p><button></button><script src="/main.js"></script>',
    'src/text.js': 'export const text = "before";',
    'src/index.js': `
      import { text } from './text.js';
      const show = () => (document.querySelector('#text').textContent = text);
      const button = document.querySelector('button');
      let count = 0;
      const label = () => (button.textContent = 'pressed ' + count);
      button.onclick = () => ((count += 1), label());
      show();
      label();
      import.meta.webpackHot.accept('./text.js', show);
    `,
    'webpack.config.mjs': `export default { mode: 'development' };`,
  },
  command: ['webpack', 'serve'],
  change: 'src/text.js',
  ready: /"type":"ok"/,
  setting: /webpack: devServer\.allowedHosts/,
});
