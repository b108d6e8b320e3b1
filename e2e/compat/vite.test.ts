/** The dev server that most projects use (docs/guides/frameworks.md). Others are in more/dev-servers.test.ts. */
import { testFramework, VITE_SCRIPT } from './project.ts';

testFramework({
  name: 'Vite',
  files: {
    'index.html': '<p id="text"></p><button></button><script type="module" src="/main.js"></script>',
    'text.js': 'export const text = "before";',
    'main.js': VITE_SCRIPT,
  },
  command: ['vite'],
  change: 'text.js',
  ready: /"type":"connected"/,
  setting: /Vite: server\.allowedHosts/,
});
