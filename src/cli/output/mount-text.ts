import type { Session } from '../../client/node/index.ts'

/** As `--mount` takes it. */
export function mountText({ volume, path, readOnly }: Session['mounts'][number]): string {
  return `${volume}:${path}${readOnly ? ':ro' : ''}`
}
