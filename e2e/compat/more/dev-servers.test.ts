/** Further dev servers (docs/guides/frameworks.md). */
import { testFramework, VITE_SCRIPT } from '../project.ts';

const VITE = { apps: 'more', ready: /"type":"connected"/, setting: /Vite: server\.allowedHosts/ };

testFramework({
  ...VITE,
  name: 'Astro',
  files: {
    'package.json': '{ "type": "module" }',
    'astro.config.mjs': 'export default { devToolbar: { enabled: false } };',
    'src/pages/index.astro': `
      <html><body>
        <p id="text"></p><button></button>
        <script>import '../main.js';</script>
      </body></html>
    `,
    'src/text.js': 'export const text = "before";',
    'src/main.js': VITE_SCRIPT,
  },
  command: ['astro', 'dev'],
  change: 'src/text.js',
});

testFramework({
  ...VITE,
  name: 'Nuxt',
  files: {
    'package.json': '{ "type": "module" }',
    'nuxt.config.mjs': 'export default { devtools: { enabled: false }, telemetry: false };',
    'app/app.vue': `
      <script setup>
      const count = ref(0);
      </script>
      <template>
        <div><p id="text">before</p><button @click="count++">pressed {{ count }}</button></div>
      </template>
    `,
  },
  command: ['nuxt', 'dev'],
  change: 'app/app.vue',
});

testFramework({
  ...VITE,
  name: 'SvelteKit',
  files: {
    'package.json': '{ "type": "module" }',
    'vite.config.js': `
      import { sveltekit } from '@sveltejs/kit/vite';
      export default { plugins: [sveltekit()] };
    `,
    'src/app.html': '<html><head>%sveltekit.head%</head><body><div>%sveltekit.body%</div></body></html>',
    'src/routes/+page.svelte': `
      <script>
        let count = $state(0);
      </script>
      <p id="text">before</p><button onclick={() => (count += 1)}>pressed {count}</button>
    `,
  },
  command: ['vite', 'dev'],
  change: 'src/routes/+page.svelte',
});

testFramework({
  ...VITE,
  name: 'React Router',
  // Its packages are above the project. It installs isbot if the project does not name it.
  files: {
    'package.json': '{ "type": "module", "dependencies": { "isbot": "5" } }',
    'vite.config.js': `
      import { reactRouter } from '@react-router/dev/vite';
      export default { plugins: [reactRouter()], server: { fs: { allow: ['..'] } } };
    `,
    'app/root.jsx': `
      import { Outlet, Scripts } from 'react-router';
      export function Layout({ children }) {
        return <html><body>{children}<Scripts /></body></html>;
      }
      export default function App() {
        return <Outlet />;
      }
    `,
    'app/routes.js': `
      import { index } from '@react-router/dev/routes';
      export default [index('home.jsx')];
    `,
    'app/home.jsx': `
      import { useState } from 'react';
      export default function Home() {
        const [count, setCount] = useState(0);
        return <>
          <p id="text">before</p>
          <button onClick={() => setCount(count + 1)}>{'pressed ' + count}</button>
        </>;
      }
    `,
  },
  command: ['react-router', 'dev'],
  change: 'app/home.jsx',
});

testFramework({
  ...VITE,
  name: 'Angular',
  files: {
    'package.json': '{ "type": "module" }',
    'angular.json': JSON.stringify({
      version: 1,
      cli: { analytics: false },
      projects: {
        app: {
          projectType: 'application',
          root: '',
          sourceRoot: 'src',
          architect: {
            build: {
              builder: '@angular/build:application',
              options: {
                browser: 'src/main.ts',
                index: 'src/index.html',
                tsConfig: 'tsconfig.json',
                // As in the configuration "development" of new projects: optimized code has no hot reload.
                optimization: false,
              },
            },
            serve: { builder: '@angular/build:dev-server', options: { buildTarget: 'app:build' } },
          },
        },
      },
    }),
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        target: 'ES2022',
        module: 'preserve',
        strict: true,
        experimentalDecorators: true,
        skipLibCheck: true,
        types: [],
      },
      files: ['src/main.ts'],
    }),
    'src/index.html': '<html><head><base href="/"></head><body><app-root></app-root></body></html>',
    'src/main.ts': `
      import { bootstrapApplication } from '@angular/platform-browser';
      import { provideZonelessChangeDetection } from '@angular/core';
      import { App } from './app';
      void bootstrapApplication(App, { providers: [provideZonelessChangeDetection()] });
    `,
    'src/app.ts': `
      import { Component, signal } from '@angular/core';
      @Component({ selector: 'app-root', templateUrl: './app.html' })
      export class App {
        count = signal(0);
        press() { this.count.update((count) => count + 1); }
      }
    `,
    'src/app.html': '<p id="text">before</p><button (click)="press()">pressed {{ count() }}</button>',
  },
  command: ['ng', 'serve'],
  change: 'src/app.html',
});

testFramework({
  ...VITE,
  name: 'Storybook',
  files: {
    'package.json': '{ "type": "module" }',
    '.storybook/main.js': `
      export default {
        stories: ['../*.stories.js'],
        framework: '@storybook/html-vite',
        core: { disableTelemetry: true, disableWhatsNewNotifications: true },
        viteFinal(config) {
          // Stories otherwise connect to Storybook's own port for hot reload, which is not that of the address.
          if (typeof config.server?.hmr === 'object') delete config.server.hmr.port;
          return config;
        },
      };
    `,
    'demo.stories.js': `
      import { text } from './text.js';
      export default { title: 'Demo' };
      const shown = document.createElement('p');
      shown.id = 'text';
      shown.textContent = text;
      const button = document.createElement('button');
      let count = 0;
      const label = () => (button.textContent = 'pressed ' + count);
      button.onclick = () => ((count += 1), label());
      label();
      export const Basic = {
        render() {
          const all = document.createElement('div');
          all.append(shown, button);
          return all;
        },
      };
    `,
    'text.js': 'export const text = "before";',
  },
  command: ['storybook', 'dev', '--ci', '--disable-telemetry'],
  path: '/?path=/story/demo--basic',
  frame: '#storybook-preview-iframe',
  change: 'text.js',
  setting: /Storybook: core\.allowedHosts/,
});

testFramework({
  name: 'Next.js',
  apps: 'more',
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
  apps: 'more',
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
