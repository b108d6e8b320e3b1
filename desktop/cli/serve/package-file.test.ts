import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { temporaryDirectory } from '../../../shared/testing/temporary-directory.ts';
import { commandEnvironment, planCommand, projectName } from './package-file.ts';

const planned = (line: string, scripts: Record<string, unknown> = {}): string =>
  planCommand(line.split(' '), { scripts }).with(4000, 'shop.test').join(' ');

const port = (line: string, dev?: string) => planCommand(line.split(' '), { scripts: { dev } }).ownPort;

const isLocalOnly = (line: string) => planCommand(line.split(' '), undefined).isLocalOnly;

/** The hint for a configuration of Storybook. */
const hinted = (config: string, line = 'storybook dev'): string | undefined => {
  const folder = temporaryDirectory();
  mkdirSync(join(folder, '.storybook'));
  writeFileSync(join(folder, '.storybook/main.ts'), config);
  return planCommand(line.split(' '), undefined).hint(folder);
};

const WITH_VITE = `export default { framework: '@storybook/react-vite' };`;

describe('commandEnvironment', () => {
  it('has the port, the address and the host, without its port', () => {
    const env = commandEnvironment(4000, 'https://shop.tunnels.test:8443/t/x', { HOME: '/home/ann' });
    assert.deepEqual(env, {
      HOME: '/home/ann',
      PORT: '4000',
      NUXT_PORT: '4000',
      NITRO_PORT: '4000',
      FLASK_RUN_PORT: '4000',
      CULVERT_URL: 'https://shop.tunnels.test:8443/t/x',
      CULVERT_HOST: 'shop.tunnels.test',
      __VITE_ADDITIONAL_SERVER_ALLOWED_HOSTS: 'shop.tunnels.test',
      RAILS_DEVELOPMENT_HOSTS: 'shop.tunnels.test',
    });
  });

  it('keeps the hosts that are allowed already', () => {
    const env = commandEnvironment(4000, 'https://a.test', {
      __VITE_ADDITIONAL_SERVER_ALLOWED_HOSTS: 'b.test',
      RAILS_DEVELOPMENT_HOSTS: 'c.test,d.test',
    });
    assert.equal(env['__VITE_ADDITIONAL_SERVER_ALLOWED_HOSTS'], 'b.test,a.test');
    assert.equal(env['RAILS_DEVELOPMENT_HOSTS'], 'c.test,d.test,a.test');
  });
});

describe('planCommand', () => {
  const added: readonly [line: string, planned: string, script?: string][] = [
    ['vite', 'vite --port 4000 --strictPort'],
    ['npx vite dev', 'npx vite dev --port 4000 --strictPort'],
    ['./node_modules/.bin/vite web', './node_modules/.bin/vite web'],
    ['npx -y vite ./web', 'npx -y vite ./web --port 4000 --strictPort'],
    ['pnpm exec astro dev', 'pnpm exec astro dev --port 4000'],
    ['ng serve', 'ng serve --port 4000'],
    ['react-router dev', 'react-router dev --port 4000'],
    ['npx storybook dev --ci', 'npx storybook dev --ci --port 4000'],
    ['webpack serve', 'webpack serve --port 4000 --allowed-hosts shop.test --client-web-socket-url-port 0'],
    [
      'npm run dev',
      'npm run dev -- --allowed-hosts shop.test --client-web-socket-url-port 0',
      'webpack serve --port 8080',
    ],
    ['python3 manage.py runserver', 'python3 manage.py runserver 4000'],
    ['./manage.py runserver --noreload', './manage.py runserver --noreload 4000'],
    ['npm run dev', 'npm run dev -- --port 4000 --strictPort', 'vite'],
    ['npm run dev -- --host', 'npm run dev -- --host --port 4000 --strictPort', 'vite'],
    ['npm run --silent dev', 'npm run --silent dev -- --port 4000 --strictPort', 'NODE_ENV=x vite dev'],
    ['pnpm dev', 'pnpm dev --port 4000', 'astro dev'],
    ['yarn run dev', 'yarn run dev --port 4000 --strictPort', 'cross-env A=b vite'],
    ['bun dev', 'bun dev --port 4000 --strictPort', 'vite'],
  ];
  for (const [line, expected, script] of added) {
    it(`starts ${line}${script === undefined ? '' : ` (${script})`} as ${expected}`, () =>
      assert.equal(planned(line, { dev: script }), expected));
  }

  const unchanged: readonly [line: string, script?: string][] = [
    ['node server.js'],
    ['node vite'],
    ['vite build'],
    ['next dev'],
    ['nuxt dev'],
    ['rails server'],
    ['flask run'],
    ['astro build'],
    ['webpack'],
    ['webpack build'],
    ['storybook build'],
    ['python3 manage.py migrate'],
    ['python3 manage.py runserver 0.0.0.0:8000'],
    ['npm run dev', 'vite && true'],
    ['npm run dev', 'vite build'],
    ['npm run dev', 'echo "vite"'],
    ['npm run other', 'vite'],
    ['npm install vite'],
    ['npm'],
    ['constructor'],
    ['npm run constructor'],
  ];
  for (const [line, script] of unchanged) {
    it(`leaves ${line}${script === undefined ? '' : ` (${script})`} as it is`, () =>
      assert.equal(planned(line, { dev: script }), line));
  }

  it('uses the port that the command names', () => {
    assert.equal(port('vite --port 5180'), 5180);
    assert.equal(port('next dev -p 3100'), 3100);
    assert.equal(port('rails s --port=3200'), 3200);
    assert.equal(port('npm run dev', 'vite --port 5180'), 5180);
    assert.equal(port('npm run dev -- --port 5181', 'vite'), 5181);
    assert.equal(port('node server.js --port 5182'), undefined);
    assert.equal(port('vite --port none'), undefined);
    assert.equal(planned('vite --port 5180'), 'vite --port 5180');
  });

  it('knows which servers accept only local hosts', () => {
    for (const line of ['python manage.py runserver', 'next', 'next dev', 'next ./web', 'storybook dev'])
      assert.equal(isLocalOnly(line), true, line);
    for (const line of ['vite', 'next start', 'next build', 'storybook build', 'webpack serve'])
      assert.equal(isLocalOnly(line), false, line);
  });

  it('names the setting that hot reload of Storybook with Vite needs', () =>
    assert.match(
      hinted(WITH_VITE) ?? '',
      /In viteFinal of \.storybook\/main\.ts, delete config\.server\.hmr\.port\./,
    ));

  it('has no hint for other builders and servers, without a configuration, and with the setting', () => {
    assert.equal(hinted(`export default { framework: '@storybook/react-webpack5' };`), undefined);
    assert.equal(hinted(`${WITH_VITE} delete config.server?.hmr?.port`), undefined);
    assert.equal(hinted(WITH_VITE, 'storybook build'), undefined);
    assert.equal(hinted(WITH_VITE, 'vite'), undefined);
    assert.equal(planCommand(['storybook', 'dev'], undefined).hint(temporaryDirectory()), undefined);
  });

  it('ignores a package.json with anything else in it', () => {
    for (const scripts of [undefined, null, 'vite', ['vite'], { dev: 5 }])
      assert.equal(planCommand(['npm', 'run', 'dev'], { scripts }).with(1, 'a.test').length, 3);
  });
});

describe('projectName', () => {
  let folder: string;

  beforeEach(() => (folder = temporaryDirectory()));

  function write(path: string, text: string): void {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const branch = (name: string): void => write('.git/HEAD', `ref: refs/heads/${name}\n`);

  const names: readonly [pack: string, branch: string | undefined, name: string | undefined][] = [
    ['shop', 'main', 'shop'],
    ['shop', 'master', 'shop'],
    ['shop', undefined, 'shop'],
    ['shop', 'feature/Log_in', 'shop-feature-log-in'],
    ['@acme/shop.web', 'fix', 'shop-web-fix'],
    ['x', 'main', undefined],
    ['', 'fix', undefined],
    ['@acme/', 'fix', undefined],
    ['xn--shop', 'main', 'xn-shop'],
    ['a'.repeat(60), 'b-cde', `${'a'.repeat(60)}-b`],
    ['../../etc', '-', 'etc'],
  ];
  for (const [pack, head, name] of names) {
    it(`is ${name} for ${pack} on ${head}`, () => {
      write('package.json', JSON.stringify({ name: pack }));
      if (head !== undefined) branch(head);
      assert.equal(projectName(folder), name);
    });
  }

  it('looks in the folders above', () => {
    write('package.json', '{"name":"shop"}');
    branch('fix');
    mkdirSync(join(folder, 'a/b'), { recursive: true });
    assert.equal(projectName(join(folder, 'a/b')), 'shop-fix');
  });

  it('has the branch of a worktree', () => {
    write('repository/.git/HEAD', 'ref: refs/heads/main\n');
    write('repository/.git/worktrees/two/HEAD', 'ref: refs/heads/two\n');
    write('two/.git', `gitdir: ${join(folder, 'repository/.git/worktrees/two')}\n`);
    write('two/package.json', '{"name":"shop"}');
    assert.equal(projectName(join(folder, 'two')), 'shop-two');
  });

  it('has no branch for a commit without one', () => {
    write('package.json', '{"name":"shop"}');
    write('.git/HEAD', `${'0'.repeat(40)}\n`);
    assert.equal(projectName(folder), 'shop');
  });

  it('is undefined without a package, or for one that is broken, nameless or huge', () => {
    // An outer folder could have one.
    write('package.json', 'no JSON');
    assert.equal(projectName(folder), undefined);
    for (const text of ['{}', '[]', 'null', '{"name":5}', `{"name":"a","b":"${'x'.repeat(1024 * 1024)}"}`]) {
      write('package.json', text);
      assert.equal(projectName(folder), undefined);
    }
  });
});
