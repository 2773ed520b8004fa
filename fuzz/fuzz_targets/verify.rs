#![no_main]

use contextnest_fuzz::targets::verify::run;

// With threads, the path of an input would be random.
libfuzzer_sys::fuzz_target!(init: one_thread(), |bytes: &[u8]| run(bytes));

fn one_thread() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().expect("no pool was made before");
}
