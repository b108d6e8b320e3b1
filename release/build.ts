/** `npm run build`: bundles the two programs into dist/, one folder each (docs/decisions/0015-bundled-programs.md). */
import { rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, relative } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';
import { ROOT } from './repository.ts';
import { bundledPackages, licenceNotices } from './licences.ts';

const DIST = join(ROOT, 'dist');

/**
 * Takes Node's own modules as `require` does. An `import` reads all they export, and some of that is loaded when it is read:
 * `node:http` then loads an HTTP client that nobody uses, at twice the cost of starting Node.
 */
const builtins: Plugin = {
  name: 'builtins',
  setup(building) {
    building.onResolve({ filter: /^[a-z_:/0-9]+$/ }, ({ path, importer }) =>
      // One for each file that asks: what several share would be one small file more to load.
      isBuiltin(path) ? { path, namespace: 'builtin', suffix: `?${relative(ROOT, importer)}` } : undefined,
    );
    building.onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

/** The media types that the relay's API answers with; the list of all there are is a third of the program. */
const mediaTypes: Plugin = {
  name: 'media-types',
  setup(building) {
    building.onResolve({ filter: /^mime-db$/ }, ({ path }) => ({ path, namespace: 'media-types' }));
    building.onLoad({ filter: /./, namespace: 'media-types' }, () => ({
      contents: JSON.stringify({
        'application/json': { charset: 'UTF-8', extensions: ['json'] },
        'application/octet-stream': { extensions: ['bin'] },
        'text/html': { extensions: ['html'] },
        'text/plain': { extensions: ['txt'] },
      }),
      loader: 'json',
    }));
  },
};

/**
 * Bundles a program. What it shares among its commands is in files of its own, which each command loads as it needs them.
 *
 * @param folder of the program, in the sources as in dist/
 * @param entryPoints its files that are started: the program, or a thread of it
 */
async function bundle(folder: string, entryPoints: readonly string[]): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: entryPoints.map((file) => join(folder, file)),
    outdir: join(DIST, folder),
    entryNames: '[name]',
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node22.13',
    plugins: [builtins, mediaTypes],
    // `ws` and `pg` make use of them where they are installed, and do without.
    external: ['bufferutil', 'utf-8-validate', 'pg-native'],
    metafile: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
  return metafile;
}

rmSync(DIST, { recursive: true, force: true });
const metafiles = await Promise.all([
  bundle('server', ['cli.ts']),
  // A thread loads its file alone, so there it is whole.
  bundle('server', ['store/thread/store-thread.ts']),
  bundle('desktop', ['cli.ts']),
]);
writeFileSync(join(DIST, 'NOTICES.txt'), licenceNotices(bundledPackages(metafiles)));
