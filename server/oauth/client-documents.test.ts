import assert from 'node:assert/strict';
import { FakeClock } from '../testing/fake-clock.ts';
import {
  ClientDocuments,
  DOCUMENT_KEPT_MAX_SECONDS,
  type Fetched,
  isDocumentId,
} from './client-documents.ts';

const ID = 'https://app.example/client.json';
const DOCUMENT = { client_id: ID, client_name: 'App', redirect_uris: ['https://app.example/back'] };
const CLIENT = { name: 'App', redirectUris: ['https://app.example/back'] };

describe('the id of a client', () => {
  it('is the address of its document only if all parsers read it alike', () => {
    assert.ok(isDocumentId(ID));
    assert.ok(isDocumentId('https://app.example:8443/a/client?x=1'));
    for (const id of [
      'http://app.example/client.json',
      'https://app.example',
      'https://app.example/',
      'https://app.example/client.json#f',
      'https://app.example/client.json#',
      'https://user@app.example/client.json',
      'https://APP.example/client.json',
      'https://app.example:443/client.json',
      'https://app.example/a/../client.json',
      'https://app.example\\client.json',
      'https://äpp.example/client.json',
      'https://0x7f000001/client.json',
      'https://app.example/ client.json',
      'https://',
      `https://app.example/${'x'.repeat(1024)}`,
    ])
      assert.ok(!isDocumentId(id), id);
  });
});

describe('ClientDocuments', () => {
  let clock: FakeClock;
  let fetched: Fetched | undefined;
  let fetches: number;
  let documents: ClientDocuments;

  beforeEach(() => {
    clock = new FakeClock();
    fetches = 0;
    documents = new ClientDocuments(clock, () => {
      fetches += 1;
      return Promise.resolve(fetched);
    });
  });

  function find(document: object | string | undefined, cacheControl = ''): Promise<unknown> {
    const text = typeof document === 'string' ? document : JSON.stringify(document);
    fetched = document === undefined ? undefined : { text, cacheControl };
    return documents.find(ID, '192.0.2.1');
  }

  it('believe what a document says of its own client, and nothing else', async () => {
    assert.deepEqual(await find(DOCUMENT), CLIENT);
    assert.deepEqual(await find({ ...DOCUMENT, client_name: undefined }), { ...CLIENT, name: '' });
    const hidden = { ...DOCUMENT, client_name: ` Cl\u202eau\u0000de \n ${'x'.repeat(99)}` };
    assert.equal(((await find(hidden)) as typeof CLIENT).name, `Cl au de ${'x'.repeat(71)}`);
    for (const document of [
      undefined,
      '',
      '[]',
      'null',
      { ...DOCUMENT, client_id: `${ID}x` },
      { ...DOCUMENT, client_name: 7 },
      { ...DOCUMENT, redirect_uris: [] },
      { ...DOCUMENT, redirect_uris: 'https://app.example/back' },
      { ...DOCUMENT, redirect_uris: ['https://app.example/back', 'javascript:alert(1)'] },
      { ...DOCUMENT, redirect_uris: Array.from({ length: 17 }, (_, each) => `https://app.example/${each}`) },
      { ...DOCUMENT, token_endpoint_auth_method: 'client_secret_basic' },
    ])
      assert.equal(await find(document), undefined, JSON.stringify(document));
  });

  it('are kept as long as they say, for at most a day', async () => {
    for (const [cacheControl, seconds] of [
      ['', 0],
      ['no-store', 0],
      ['max-age=60, no-cache', 0],
      ['max-age=60', 60],
      ['public, MAX-AGE="60", max-age=30', 30],
      ['max-age=9999999', DOCUMENT_KEPT_MAX_SECONDS],
      ['max-age=-1', 0],
    ] as const) {
      documents = new ClientDocuments(clock, () => {
        fetches += 1;
        return Promise.resolve(fetched);
      });
      fetches = 0;
      await find(DOCUMENT, cacheControl);
      if (seconds > 0) {
        clock.advance(seconds * 1000 - 1);
        assert.deepEqual(await find(undefined), CLIENT, cacheControl);
        assert.equal(fetches, 1);
        clock.advance(1);
      }
      assert.equal(await find(undefined), undefined, cacheControl);
    }
  });

  it('are not remembered as missing', async () => {
    assert.equal(await find(undefined, 'max-age=60'), undefined);
    assert.deepEqual(await find(DOCUMENT), CLIENT);
  });
});
