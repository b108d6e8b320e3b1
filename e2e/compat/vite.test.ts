/** The dev server that most projects use (docs/guides/frameworks.md). Others are in more/dev-servers.test.ts. */
import { testFramework } from './project.ts';

testFramework({
  name: 'Vite',
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
