/** The id by which systems know the app; `appId` of electron-builder.yml. */
export const APP_ID = 'dev.culvert.desktop';
