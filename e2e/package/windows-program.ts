/** A program for Windows that does nothing, made with the library with which electron-builder changes Electron's. */
import { createRequire } from 'node:module';

/** What is used of `resedit`, which is a dependency of electron-builder, not ours. */
interface ResEdit {
  readonly NtExecutable: { createEmpty(): { generate(): ArrayBuffer } };
  readonly NtExecutableResource: {
    from(program: object): { entries: object[]; outputResource(program: object): void };
  };
  readonly Resource: {
    readonly VersionInfo: {
      createEmpty(): {
        setStringValues(language: object, values: object): void;
        outputToResourceEntries(entries: object[]): void;
      };
    };
  };
}

const { resolve } = createRequire(import.meta.url);
const { NtExecutable, NtExecutableResource, Resource } = createRequire(resolve('app-builder-lib'))(
  'resedit',
) as ResEdit;
const ENGLISH = { lang: 1033, codepage: 1200 };

/** @param data that follows it */
export function windowsProgram(data: Buffer): Buffer {
  const program = NtExecutable.createEmpty();
  const resources = NtExecutableResource.from(program);
  const version = Resource.VersionInfo.createEmpty();
  version.setStringValues(ENGLISH, { ProductName: 'Electron' });
  version.outputToResourceEntries(resources.entries);
  resources.outputResource(program);
  return Buffer.concat([Buffer.from(program.generate()), data]);
}
