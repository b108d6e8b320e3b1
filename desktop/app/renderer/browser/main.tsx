/** The window as a page in a browser. */
import { start } from '../app.tsx';
import { BrowserBridge } from './browser-bridge.ts';
import '../style/browser.css';

start(() => {
  const bridge = new BrowserBridge();
  // As the preload exposes it in the app.
  Object.defineProperty(window, 'culvert', { value: bridge });
  return bridge;
});
