/**
 * The thread of an embedded database: commits wait here for the disk, and visitors do not
 * (docs/decisions/0012-fair-api.md). store-connection.ts starts it and passes `workerData`.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { describeError } from '../../log.ts';
import type { Creation } from '../schema.ts';
import { openSqlite } from '../sqlite/open-sqlite.ts';
import type { Store } from '../store.ts';
import { type Call, failureOf, type Report } from './messages.ts';

const { path, creation } = workerData as { readonly path: string; readonly creation: Creation };

function say(report: Report): void {
  parentPort?.postMessage(report);
}

async function answer(store: Store, { call, operation, args }: Call): Promise<void> {
  const method = store[operation] as (...given: unknown[]) => Promise<unknown>;
  try {
    say({ kind: 'done', call, value: await method.apply(store, [...args]) });
  } catch (error) {
    say({ kind: 'failed', call, failure: failureOf(error) });
  }
  // No more requests come, and a thread without listeners ends.
  if (operation === 'close') parentPort?.close();
}

async function run(): Promise<void> {
  try {
    const store = await openSqlite(path, (event, fields) => say({ kind: 'log', event, fields }), creation);
    parentPort?.on('message', (call: Call) => void answer(store, call));
    say({ kind: 'opened', operations: Object.keys(store) as (keyof Store)[] });
  } catch (error) {
    say({ kind: 'refused', text: describeError(error) });
  }
}

void run();
