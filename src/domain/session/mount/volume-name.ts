/** By which an agent offers a volume and sessions ask for it. */
export const VOLUME_NAME = /^[A-Za-z0-9][\w.-]{0,63}$/
export const VOLUME_NAME_RULE =
  'must be letters, digits, dots, hyphens and underscores, at most 64, beginning with a letter or digit'
