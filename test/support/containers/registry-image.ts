import { createHash } from 'node:crypto'

const TYPES = ['application/vnd.docker.distribution.manifest.v2+json', 'application/vnd.oci.image.manifest.v1+json']

interface Manifest {
  config: { digest: string; size: number }
}

/** Gives what a registry has another name. */
export async function copyTag(host: string, repository: string, from: string, to: string): Promise<void> {
  const { text, type } = await readManifest(host, repository, from)
  await putManifest(host, repository, to, text, type)
}

/** The same files as another image: one with a label of its own. */
export async function pushVariant(host: string, repository: string, from: string, to: string): Promise<void> {
  const { text, type } = await readManifest(host, repository, from)
  const manifest = JSON.parse(text) as Manifest
  const blobs = `http://${host}/v2/${repository}/blobs`
  const config = (await (await fetch(`${blobs}/${manifest.config.digest}`)).json()) as { config: object }
  const bytes = JSON.stringify({ ...config, config: { ...config.config, Labels: { variant: `${to} ${Date.now()}` } } })
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
  const upload = new URL((await fetch(`${blobs}/uploads/`, { method: 'POST' })).headers.get('location')!)
  upload.searchParams.set('digest', digest)
  await refuseFailure(
    await fetch(upload, { method: 'PUT', body: bytes, headers: { 'content-type': 'application/octet-stream' } }),
  )
  Object.assign(manifest.config, { digest, size: Buffer.byteLength(bytes) })
  await putManifest(host, repository, to, JSON.stringify(manifest), type)
}

async function readManifest(host: string, repository: string, tag: string): Promise<{ text: string; type: string }> {
  const url = `http://${host}/v2/${repository}/manifests/${tag}`
  const answer = await refuseFailure(await fetch(url, { headers: { accept: TYPES.join(', ') } }))
  return { text: await answer.text(), type: answer.headers.get('content-type')! }
}

async function putManifest(host: string, repository: string, tag: string, body: string, type: string): Promise<void> {
  const url = `http://${host}/v2/${repository}/manifests/${tag}`
  await refuseFailure(await fetch(url, { method: 'PUT', headers: { 'content-type': type }, body }))
}

async function refuseFailure(answer: Response): Promise<Response> {
  if (!answer.ok) throw new Error(`${answer.url}: ${answer.status} ${await answer.text()}`)
  return answer
}
