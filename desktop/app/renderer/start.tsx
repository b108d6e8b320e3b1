import { render } from 'preact';
import { chooseLocale, setLocale } from '../messages/translate.ts';
import { App } from './app.tsx';
import type { Bridge } from './bridge.ts';
import './style/main.css';

/** Shows the window. @param makeBridge called once the page speaks its user's language */
export function start(makeBridge: () => Bridge): void {
  const root = document.getElementById('root');
  if (root === null) throw new Error('index.html has no root');
  // Until main sends the user's choice.
  setLocale(chooseLocale('system', navigator.languages));
  render(<App bridge={makeBridge()} />, root);
}
