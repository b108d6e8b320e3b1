/** How programs and the library are bundled (docs/decisions/0015-bundled-programs.md). */
import { isBuiltin } from 'node:module';
import { join, relative } from 'node:path';
import { build, type BuildOptions, type Metafile, type Plugin } from 'esbuild';
import { ROOT } from './repository.ts';

export const DIST = join(ROOT, 'dist');
/** The window for browsers, beside the program `culvert`, which serves it. */
export const WINDOW = join(DIST, 'desktop/window');
const LINE_LENGTH = 120;

/** Modules that packages require at every start, and call later, if at all. */
const CALLED_LATER: ReadonlySet<string> = new Set(['assert', 'https', 'module', 'node:assert', 'tls']);

/**
 * Replaces imports of Node's builtin modules by `require`, and only of the exports in use. An `import` reads all
 * exports, and some load more code when they are read: `node:http` then loads an unused HTTP client, at twice the cost
 * of starting Node. Functions load their module when they are first called, so that `culvert --version` and
 * `culvert mcp` start without TLS.
 */
const builtins: Plugin = {
  name: 'builtins',
  setup(building) {
    building.onResolve({ filter: /^[a-z_:/0-9]+$/ }, ({ path, importer, kind }) => {
      if (!isBuiltin(path)) return undefined;
      const namespace = kind === 'require-call' ? 'required' : 'imported';
      // One module per importing file, because a shared one would be one more small file to load.
      return { path, namespace, suffix: `?${relative(ROOT, importer)}` };
    });
    building.onLoad({ filter: /./, namespace: 'required' }, ({ path }) => ({
      contents: CALLED_LATER.has(path) ? calledLater(path) : `module.exports = ${builtin(path)};`,
    }));
    building.onLoad({ filter: /./, namespace: 'imported' }, ({ path }) => ({
      contents: [
        `let builtin; const load = () => (builtin ??= ${builtin(path)}), take = (name) => load()[name];`,
        // Marked as free of side effects, so that esbuild drops unused ones.
        'export default /* @__PURE__ */ load();',
        ...Object.entries(process.getBuiltinModule(path) ?? {})
          .filter(([name]) => name !== 'default')
          .map(([name, value]) =>
            isPlainFunction(name, value)
              ? `export function ${name}(...given) { return load().${name}(...given); }`
              : `export const ${name} = /* @__PURE__ */ take('${name}');`,
          ),
      ].join('\n'),
    }));
  },
};

/** No class, and without properties: `promisify` reads some. */
function isPlainFunction(name: string, value: unknown): boolean {
  return (
    typeof value === 'function' &&
    /^[a-z]/.test(name) &&
    Object.keys(value).length + Object.getOwnPropertySymbols(value).length === 0
  );
}

/** A stand-in for a module that loads it when one of its functions is called, or anything else of it is read. */
function calledLater(path: string): string {
  const functions = Object.entries(process.getBuiltinModule(path) ?? {})
    .filter(([name, value]) => isPlainFunction(name, value))
    .map(([name]) => name);
  return `
    const load = () => ${builtin(path)};
    const functions = new Set(${JSON.stringify(functions)});
    module.exports = new Proxy(() => {}, {
      apply: (_, self, given) => load()(...given),
      get: (_, name) => functions.has(name) ? (...given) => load()[name](...given) : load()[name],
    });`;
}

function builtin(path: string): string {
  return `process.getBuiltinModule(${JSON.stringify(path)})`;
}

/** The media types of the relay's API responses. The complete list would be a third of the program. */
export const mediaTypes: Plugin = {
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
 * Parts of the body parser that are not needed: bodies are JSON in UTF-8, so there are no forms, and no tables of other
 * encodings, which are a third of the program.
 */
const unused: Plugin = {
  name: 'unused',
  setup(building) {
    building.onResolve({ filter: /^(?:qs|\.\/[ds]bcs-data)$/ }, ({ path }) => ({
      path,
      namespace: 'unused',
    }));
    building.onLoad({ filter: /./, namespace: 'unused' }, () => ({ contents: '{}', loader: 'json' }));
  },
};

/** The library exposes servers only, so it leaves out the server of a folder, which is a third of it. */
export const noFolders: Plugin = {
  name: 'no-folders',
  setup(building) {
    building.onResolve({ filter: /\/shared-folder\.ts$/ }, ({ path }) => ({ path, namespace: 'no-folders' }));
    building.onLoad({ filter: /./, namespace: 'no-folders' }, () => ({
      contents: "export function shareFolder() { throw new Error('the library shares no folders'); }",
    }));
  },
};

type Format = Pick<BuildOptions, 'format' | 'splitting' | 'outExtension' | 'define'>;

/** Code shared by the commands of a program is in separate files, which each command loads on demand. */
export const PROGRAM: Format = { format: 'esm', splitting: true };
/** A thread loads only its own file, which is therefore complete. Node sets up CommonJS faster. */
export const THREAD: Format = { format: 'cjs', outExtension: { '.js': '.cjs' } };
/** A program in one file with Node (programs.ts), where there are no other files. */
export const SINGLE_FILE: Format = {
  format: 'cjs',
  define: { 'import.meta.url': '""', 'import.meta.dirname': '""' },
};

/**
 * Bundles a program, or the library.
 *
 * @param folder its folder in the sources and in dist/
 * @param plugins in addition to the common ones
 * @param entryPoints the files to start: the program, or a thread of it; for the library, the files to import
 */
export async function bundle(
  folder: string,
  entryPoints: readonly string[],
  as: Format,
  plugins: Plugin[] = [],
  output = DIST,
): Promise<Metafile> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: entryPoints.map((file) => join(folder, file)),
    outdir: join(output, folder),
    entryNames: '[name]',
    bundle: true,
    platform: 'node',
    target: 'node22.13',
    plugins: [builtins, unused, ...plugins],
    // Koa depends on two versions of it, and setting one up takes longer than the rest of Koa.
    alias: { 'http-errors': './node_modules/http-errors' },
    // `ws` and `pg` use them if they are installed, and work without.
    external: ['bufferutil', 'utf-8-validate', 'pg-native'],
    metafile: true,
    // The time to read a file depends on its length. Names and line numbers in stack traces stay.
    minifyWhitespace: true,
    lineLimit: LINE_LENGTH,
    legalComments: 'none',
    logLevel: 'warning',
    ...as,
  });
  return metafile;
}
