import { rm } from 'node:fs/promises'
import S3rver from 's3rver'
import type { S3Options } from '../../../src/services/blob/s3-requests.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

export const BUCKET = 'reprise'

export interface S3Server extends AsyncDisposable {
  readonly options: S3Options
}

/** Starts an S3 server on a free port, with an empty bucket. */
export async function startS3(): Promise<S3Server> {
  const directory = await temporaryDirectory('s3')
  const configureBuckets = [{ name: BUCKET }]
  const server = new S3rver({ port: 0, address: '127.0.0.1', silent: true, directory, configureBuckets })
  const { port } = await server.run()
  let isOpen = true
  const endpoint = `http://127.0.0.1:${port}`
  return {
    options: {
      bucket: BUCKET,
      prefix: 'some/where',
      endpoint,
      linkEndpoint: endpoint,
      region: 'us-east-1',
      accessKeyId: 'S3RVER',
      secretAccessKey: 'S3RVER',
    },
    async [Symbol.asyncDispose]() {
      if (!isOpen) return
      isOpen = false
      await server.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
