/**
 * A key store of the system, just enough to show that something was encrypted: every letter is shifted by half the alphabet.
 */
export const FAKE_KEY_STORE = {
  isAsyncEncryptionAvailable: () => Promise.resolve(true),
  getSelectedStorageBackend: () => 'gnome_libsecret',
  encryptStringAsync: (text: string) => Promise.resolve(Buffer.from(rot(text))),
  decryptStringAsync: (bytes: Buffer) =>
    Promise.resolve({ result: rot(bytes.toString()), shouldReEncrypt: false }),
};

function rot(text: string): string {
  return text.replace(/[a-z]/g, (letter) => String.fromCharCode(((letter.charCodeAt(0) - 84) % 26) + 97));
}
