import { z } from 'zod'
import {
  RELAY_BYTES_DEFAULT,
  RELAY_CEILING_BYTES,
  REQUESTS_AT_ONCE_DEFAULT,
  OUTPUT_BYTES_DEFAULT,
  UPLOAD_BYTES_DEFAULT,
  UPLOAD_CEILING_BYTES,
  UPLOAD_PROJECT_BYTES_DEFAULT,
} from '../../domain/limits.ts'
import { byteAmount, collector, list, network, variable, wholeNumber, yesOrNo } from './values.ts'

export const API_VARIABLES = {
  requestsAtOnce: variable({
    name: 'REPRISE_REQUESTS_AT_ONCE',
    default: String(REQUESTS_AT_ONCE_DEFAULT),
    meaning:
      'Queries and mutations of one token that a server works on at once. More wait for up to 5 s, then they get 429.',
    unit: 'requests',
    schema: wholeNumber(1, 10_000).default(REQUESTS_AT_ONCE_DEFAULT),
  }),
  requestsPerSecond: variable({
    name: 'REPRISE_REQUESTS_PER_SECOND',
    default: '0',
    meaning: 'Queries and mutations per second of one token, with a burst of ten seconds. More get 429. 0: no limit.',
    unit: 'requests',
    schema: wholeNumber(0, 1_000_000).default(0),
  }),
  failedAuthenticationsPerSecond: variable({
    name: 'REPRISE_FAILED_AUTHENTICATIONS_PER_SECOND',
    default: '5',
    meaning:
      'Unknown tokens per second from one address, with a burst of ten seconds. More of them are looked up together, one statement at a time, and those with the same first ten characters get 429; valid tokens always work. The same rate holds for GraphQL requests without a valid token where introspection is public: more of them get 429 before they are read. 0: no limit.',
    unit: 'requests',
    schema: wholeNumber(0, 1_000_000).default(5),
  }),
  slowReaderSeconds: variable({
    name: 'REPRISE_SLOW_READER_SECONDS',
    default: '20',
    meaning:
      'How long a client that has not shown a valid token may read nothing of an answer that waits for it. Then its connection is closed. Clients with a token have 60 s.',
    unit: 'seconds',
    schema: wholeNumber(1, 3_600).default(20),
  }),
  checkpointDir: variable({
    name: 'REPRISE_CHECKPOINT_DIR',
    default: '`checkpoints` in the data directory',
    meaning:
      'Directory in which uploaded code and copies of checkpoints are stored, in `blobs`. All servers of a database share one: set it where there are several.',
    unit: null,
    schema: z.string().optional(),
  }),
  blobDir: variable({
    name: 'REPRISE_BLOB_DIR',
    default: '`blobs` in `REPRISE_CHECKPOINT_DIR`',
    meaning:
      'Directory of uploaded code and of copies of checkpoints. All servers of a database share one: set it where there are several.',
    unit: null,
    schema: z.string().optional(),
  }),
  blobUrl: variable({
    name: 'REPRISE_BLOB_URL',
    default: 'the directory',
    meaning:
      'Bucket of S3 to use instead of the directory, like `s3://bucket/prefix`. Credentials come from `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`, the region from `AWS_REGION`.',
    unit: null,
    schema: z
      .string()
      .regex(/^s3:\/\/[a-z0-9][a-z0-9.-]+(\/[\w./-]*)?$/, 'must be like s3://bucket/prefix')
      .optional(),
  }),
  s3Endpoint: variable({
    name: 'REPRISE_S3_ENDPOINT',
    default: "Amazon's of the region",
    meaning: 'Address of the service of `REPRISE_BLOB_URL`, like `https://s3.example.org`.',
    unit: null,
    schema: collector().optional(),
  }),
  s3LinkEndpoint: variable({
    name: 'REPRISE_S3_LINK_ENDPOINT',
    default: 'none',
    meaning:
      'Address under which clients reach the service. With it, they read files from the bucket itself, by links that expire; without it, through the server.',
    unit: null,
    schema: collector().optional(),
  }),
  s3Region: variable({
    name: 'AWS_REGION',
    default: 'us-east-1',
    meaning: 'Region of the bucket.',
    unit: null,
    schema: z.string().default('us-east-1'),
  }),
  s3AccessKeyId: variable({
    name: 'AWS_ACCESS_KEY_ID',
    default: 'none',
    meaning: 'Id of the key for the bucket.',
    unit: null,
    schema: z.string().optional(),
  }),
  s3SecretAccessKey: variable({
    name: 'AWS_SECRET_ACCESS_KEY',
    default: 'none',
    meaning: 'The key for the bucket.',
    unit: null,
    schema: z.string().optional(),
  }),
  s3SessionToken: variable({
    name: 'AWS_SESSION_TOKEN',
    default: 'none',
    meaning: 'Token of a temporary key.',
    unit: null,
    schema: z.string().optional(),
  }),
  checkpointRelayMax: variable({
    name: 'REPRISE_CHECKPOINT_RELAY_MAX',
    default: '1g',
    meaning: 'The largest checkpoint that goes from one agent to another through the server. `0`: none does.',
    unit: 'bytes, with k, m, g, t (binary)',
    schema: byteAmount(RELAY_CEILING_BYTES, 0).default(RELAY_BYTES_DEFAULT),
  }),
  uploadBytesMax: variable({
    name: 'REPRISE_UPLOAD_BYTES_MAX',
    default: '64m',
    meaning:
      'The largest archive of code that the server takes for a session, and that an agent takes from the server: set it on both.',
    unit: 'bytes, with k, m, g, t (binary)',
    schema: byteAmount(UPLOAD_CEILING_BYTES).default(UPLOAD_BYTES_DEFAULT),
  }),
  uploadProjectBytesMax: variable({
    name: 'REPRISE_UPLOAD_PROJECT_BYTES_MAX',
    default: '10g',
    meaning: 'Bytes of uploaded code that a project may have in all.',
    unit: 'bytes, with k, m, g, t (binary)',
    schema: byteAmount(Number.MAX_SAFE_INTEGER).default(UPLOAD_PROJECT_BYTES_DEFAULT),
  }),
  outputBytesMax: variable({
    name: 'REPRISE_OUTPUT_BYTES_MAX',
    default: '1t',
    meaning: 'Bytes of the outputs of one attempt. Files beyond it are not collected, and named.',
    unit: 'bytes, with k, m, g, t (binary)',
    schema: byteAmount(Number.MAX_SAFE_INTEGER).default(OUTPUT_BYTES_DEFAULT),
  }),
  uploadKeepDays: variable({
    name: 'REPRISE_UPLOAD_KEEP_DAYS',
    default: '30',
    meaning: 'How long uploaded code is kept after its last use, once no session and no schedule has it.',
    unit: 'days',
    schema: wholeNumber(1, 36_500).default(30),
  }),
  publicIntrospection: variable({
    name: 'REPRISE_PUBLIC_INTROSPECTION',
    default: 'true on a loopback address, else false',
    meaning: 'Whether the GraphQL schema can be introspected without a token: `true` or `false`.',
    unit: null,
    schema: yesOrNo().optional(),
  }),
  trustedDocuments: variable({
    name: 'REPRISE_TRUSTED_DOCUMENTS',
    default: 'any document',
    meaning:
      'File with the only GraphQL documents to execute: a JSON object of their texts by SHA-256, as written by client builds. The web UI of the server has its own besides.',
    unit: null,
    schema: z.string().optional(),
  }),
  webhookAllowNetworks: variable({
    name: 'REPRISE_WEBHOOK_ALLOW_NETWORKS',
    default: 'none',
    meaning: 'Private or otherwise special networks that webhooks may reach nevertheless, like `10.1.0.0/16,fd00::/8`.',
    unit: null,
    schema: list(network()).default([]),
  }),
}
